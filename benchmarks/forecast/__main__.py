"""Run the sections named, or all; one line per claim at the end, exit code 1 if any fails.

python -m benchmarks.forecast [SEEDS] [table|censoring|drift|membership|cost|coverage …]
"""

from __future__ import annotations

import sys

from benchmarks.forecast import censoring, cost, coverage, drift, membership, table
from benchmarks.sections import Section, run

SECTIONS: dict[str, Section] = {
    "table": table.main,
    "censoring": censoring.main,
    "drift": drift.main,
    "membership": membership.main,
    "cost": lambda _: cost.main(),
    "coverage": lambda _: coverage.main(),
}
SEEDS = 5


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:], SECTIONS, SEEDS))
