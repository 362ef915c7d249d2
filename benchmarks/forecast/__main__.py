"""Run the sections named, or all; one line per claim at the end, exit code 1 if any fails.

python -m benchmarks.forecast [SEEDS] [table|censoring|drift|membership|cost|coverage …]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from time import perf_counter

from benchmarks.forecast import censoring, cost, coverage, drift, membership, table
from benchmarks.forecast.claims import Claim

SECTIONS: dict[str, Callable[[int], list[Claim]]] = {
    "table": table.main,
    "censoring": censoring.main,
    "drift": drift.main,
    "membership": membership.main,
    "cost": lambda _: cost.main(),
    "coverage": lambda _: coverage.main(),
}
SEEDS = 5


def main(arguments: Sequence[str]) -> int:
    """Run and judge."""
    seeds = [int(text) for text in arguments if text.isdigit() and int(text) > 0]
    chosen = [text for text in arguments if not text.isdigit()] or list(SECTIONS)
    unknown = [name for name in chosen if name not in SECTIONS]
    if unknown:
        print(f"There is no section {unknown[0]!r}. Name some of {', '.join(SECTIONS)}.", file=sys.stderr)
        return 2
    claims: list[Claim] = []
    whole, first = True, perf_counter()
    try:
        for name in chosen:
            began = perf_counter()
            claims += SECTIONS[name](seeds[0] if seeds else SEEDS)
            print(f"{name}: {perf_counter() - began:.0f} s\n", flush=True)
    except KeyboardInterrupt:
        print("Interrupted: what follows is what had ended.")
        whole = False
    print(f"All of it: {(perf_counter() - first) / 60.0:.0f} min")
    for claim in claims:
        print(claim)
    return 0 if whole and all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
