"""A worker of a large net is killed and joins again: how long its copy of the state holds up the others."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.claims import Claim, print_table
from tailcut.testing.chaos.faults import Fault, Plan, numbered
from tailcut.testing.chaos.journals import Life, lives
from tailcut.testing.chaos.run import carry_out

WORKERS, NUMBERS, LIMIT = 4, 25_000_000, 300.0
MOST_TIMES = 3
"""Joins that are looked at: each takes a while."""


def main(times: int) -> list[Claim]:
    """Run, and report as it is."""
    plan = Plan(
        numbered(
            [Fault(0, 1 + number % 3, "computing", phase="join") for number in range(min(times, MOST_TIMES))]
        ),
        workers=WORKERS,
        size=NUMBERS,
        optimiser="adam",
        unit=0.2,
    )
    with TemporaryDirectory() as folder:
        ended = carry_out(plan, Path(folder) / "run", LIMIT)
        verdict = ended.verdict()
        found = lives(ended.folder.journals)
    usual = median(b - a for life in found for a, b in pairwise([line.at for line in life.applied]))
    joins = [_pause(found, life) for life in found if life.number > 0]
    rows = [[f"{usual:.2f}", *(f"{each:.2f}" for each in joined)] for joined in joins]
    columns = (
        "update, s",
        "update with the join, s",
        "from entering to its state, s",
        "from start to update, s",
    )
    print_table(f"{WORKERS} workers, {NUMBERS:,} numbers, Adam: one joins", columns, rows)
    violations = [*ended.violations, *verdict.violations]
    for violation in violations:
        print(f"  {violation}", flush=True)
    return [Claim("Joining a large net: nothing lost", f"{len(violations)} violations", not violations)]


def _pause(found: list[Life], joiner: Life) -> tuple[float, float, float]:
    """The longest update of the others while it joined; seconds that it copied; and until it was in an update."""
    copying = next(line.at for line in joiner.lines if line.what == "copying")
    copied = next(line.at for line in joiner.lines if line.what == "copied")
    others = [life for life in found if life.worker != joiner.worker]
    gaps = [
        after - before
        for life in others
        for before, after in pairwise([line.at for line in life.applied])
        if after >= copying and before <= copied
    ]
    first = next(line.at for line in joiner.applied)
    return max(gaps, default=0.0), copied - copying, first - joiner.began
