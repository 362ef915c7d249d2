"""Write your own step times as a table, read it back, and compare policies on it: what would I have saved?

    python examples/own_trace.py [FILE]

In a real job each worker writes one line per step: the round, its name, and the seconds from its start on the
step to its gradient being ready, waiting for others not included. Here the lines are made up.
"""

from __future__ import annotations

import csv
import random
import sys
import tempfile
from pathlib import Path

from tailcut import names
from tailcut.study.compare import Setting, compare


def write_steps(path: Path, rounds: int = 150, workers: int = 12, seed: int = 0) -> None:
    """Twelve workers of about 0.4 s; one in twenty steps meets something that takes three times as long."""
    draw = random.Random(seed)
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["round", "worker", "seconds"])
        for number in range(rounds):
            for worker in range(workers):
                seconds = 0.4 * draw.lognormvariate(0.0, 0.05) * (3.0 if draw.random() < 0.05 else 1.0)
                lines.writerow([number, f"rank{worker}", f"{seconds:.6f}"])


def main(path: Path) -> None:
    """Write the table, compare, print one line per policy and bound."""
    write_steps(path)
    source = names.source(str(path))
    entrants = [names.entrant(spec) for spec in ("wait-all", "backup:b=1", "stopping")]
    facts = compare(source, entrants, Setting(overhead=0.02))
    print(
        f"{facts.workers} workers, {facts.rounds} rounds; idle when waiting for all: {facts.idle_before:.0%}"
    )
    for row in facts.policies:
        print(f"{row.policy:<18} {row.throughput.mean:7.2f} gradients/s, {row.mean_cutoff:5.2f} a round")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder) / "steps.csv")
