"""Run the sections named, or all; one line per claim at the end, exit code 1 if any fails.

python -m benchmarks.forecast [SEEDS] [table|censoring|drift|membership|cost|coverage …] [--jobs N]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.claims import Claim
from benchmarks.forecast import censoring, cost, coverage, drift, membership, table
from benchmarks.sections import run

SEEDS = 5


SECTIONS: dict[str, Callable[..., list[Claim]]] = {
    "table": lambda seeds, jobs=None: table.main(seeds, processes=jobs),
    "censoring": lambda seeds, jobs=None: censoring.main(seeds, processes=jobs),
    "drift": lambda seeds, jobs=None: drift.main(seeds, processes=jobs),
    "membership": lambda seeds, jobs=None: membership.main(seeds, processes=jobs),
    "cost": lambda _, jobs=None: cost.main(),
    "coverage": lambda _, jobs=None: coverage.main(processes=jobs),
}
"""Seeds and processes to claims; the cost is measured in this process alone, so that nothing else runs meanwhile."""


def main(arguments: Sequence[str]) -> int:
    """Run and judge; the exit code is 0 if every claim holds."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.forecast",
        description="What bayes claims. Exit code 1 if a claim does not hold.",
    )
    parser.add_argument(
        "words", nargs="*", metavar="SEEDS|SECTION", help=f"of {', '.join(SECTIONS)}; default all"
    )
    parser.add_argument("--jobs", type=int, default=None, help="processes; default one per core")
    given = parser.parse_args(arguments)
    chosen = {name: partial(section, jobs=given.jobs) for name, section in SECTIONS.items()}
    return run(given.words, chosen, SEEDS)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
