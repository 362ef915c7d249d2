"""A benchmark of several sections: those named or all, then one line per claim."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

from benchmarks.claims import Claim

Section = Callable[[int], list[Claim]]


def run(arguments: Sequence[str], sections: Mapping[str, Section], usual: int) -> int:
    """Run and judge; the exit code is 0 if all of it ran and every claim holds.

    Args:
        arguments: names of sections, and at most one number: how often each is repeated.
        sections: all sections by name.
        usual: number of repeats, if no number is given.
    """
    numbers = [int(text) for text in arguments if text.isdigit() and int(text) > 0]
    chosen = [text for text in arguments if not text.isdigit()] or list(sections)
    unknown = [name for name in chosen if name not in sections]
    if unknown:
        print(f"There is no section {unknown[0]!r}. Name some of {', '.join(sections)}.", file=sys.stderr)
        return 2
    claims: list[Claim] = []
    whole, first = True, perf_counter()
    try:
        for name in chosen:
            began = perf_counter()
            claims += sections[name](numbers[0] if numbers else usual)
            print(f"{name}: {perf_counter() - began:.0f} s\n", flush=True)
    except KeyboardInterrupt:
        print("Interrupted: what follows is what had ended.")
        whole = False
    print(f"All of it: {(perf_counter() - first) / 60.0:.0f} min")
    for claim in claims:
        print(claim)
    return 0 if whole and all(claim.holds for claim in claims) else 1
