"""Run the sections named, or all; one line per claim at the end, exit code 1 if any fails.

python -m benchmarks.anywhere [laws|few|exact|sizes|shocks|named|cost …] [--seeds 1001,1002,1003] [--jobs N]
    [--policies bayes,stopping] [--only TEXT,TEXT] [--rounds N]

Claims use the seeds 1001, 1002 and 1003; policies are developed on the seeds 0 to 9. While developing, one law on one
seed takes seconds:

python -m benchmarks.anywhere laws --seeds 0 --only d:,n=6,plain
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from benchmarks.anywhere import cost, exact, few, laws, named, shocks, sizes
from benchmarks.anywhere.options import CLAIM_SEEDS, Options
from benchmarks.claims import Claim
from benchmarks.sections import run

AnywhereSection: TypeAlias = Callable[[Options], list[Claim]]

SECTIONS: dict[str, AnywhereSection] = {
    "laws": laws.main,
    "few": few.main,
    "exact": exact.main,
    "sizes": sizes.main,
    "shocks": shocks.main,
    "named": named.main,
    "cost": cost.main,
}


def options_of(arguments: Sequence[str]) -> tuple[list[str], Options]:
    """Return the sections named and how to run them."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.anywhere",
        description="Is bayes ever regretted? Exit code 1 if a claim does not hold.",
        epilog="While developing: python -m benchmarks.anywhere laws --seeds 0 --only d:,n=6,plain",
    )
    parser.add_argument(
        "sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}; default all"
    )
    parser.add_argument("--seeds", default=",".join(map(str, CLAIM_SEEDS)), help="development: 0 to 9")
    parser.add_argument("--jobs", type=int, default=None, help="processes; default one per core")
    parser.add_argument("--policies", default="bayes", help="the claims are about the first")
    parser.add_argument(
        "--only", default="", help="texts that a case's label must contain, such as d:,n=6,plain"
    )
    parser.add_argument("--rounds", type=int, default=None, help="of each case; default as claimed")
    given = parser.parse_args(arguments)
    return given.sections, Options(
        seeds=tuple(int(text) for text in _parts(given.seeds)),
        jobs=given.jobs,
        policies=tuple(_parts(given.policies)),
        only=tuple(_parts(given.only)),
        rounds=given.rounds,
    )


def _parts(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _section(work: AnywhereSection, options: Options, _: int) -> list[Claim]:
    return work(options)


def main(arguments: Sequence[str], sections: Mapping[str, AnywhereSection] = SECTIONS) -> int:
    """Run and judge; the exit code is 0 if every claim holds."""
    chosen, options = options_of(arguments)
    return run(chosen, {name: partial(_section, work, options) for name, work in sections.items()}, 1)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
