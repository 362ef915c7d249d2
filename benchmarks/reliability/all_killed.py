"""All processes killed at moments of chance, again and again: the run goes on from its last checkpoint."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from benchmarks.claims import Claim, print_table
from tailcut.testing.chaos.faults import Plan
from tailcut.testing.chaos.resuming import killed_again_and_again

WORKERS, EVERY, MOST, LIMIT = 4, 10, 60, 90.0


def main(times: int) -> list[Claim]:
    """Run and judge."""
    plan = Plan(
        workers=WORKERS,
        seed=3,
        policy="backup:share=0.75",
        size=100_000,
        optimiser="adam",
        chance=0.1,
        total=MOST * (times + 1) + 50,
        checkpoint_every=EVERY,
    )
    with tempfile.TemporaryDirectory() as folder:
        found = killed_again_and_again(plan, Path(folder) / "run", times, MOST, LIMIT)
    for violation in found.violations:
        print(f"  {violation}", flush=True)
    if not found.times:
        return [Claim("All killed: the run begins", "it did not", False)]
    lost = [each.newest - each.began for each in found.times]
    seconds = [each.seconds for each in found.times]
    rows = [
        [str(len(lost)), f"{median(lost):g}", str(max(lost)), f"{median(seconds):.1f}", f"{max(seconds):.1f}"]
    ]
    columns = ("times", "updates lost, median", "most", "to the first update, median, s", "longest, s")
    print_table(f"{WORKERS} workers, all killed, a checkpoint every {EVERY} updates", columns, rows)
    well = len(found.times) == times and not found.violations
    return [
        Claim(
            "All killed: resume loses at most the rounds since the last checkpoint, and the numbers are right",
            f"{len(found.times)} times, at most {max(lost)} updates lost, {len(found.violations)} violations",
            well,
        )
    ]
