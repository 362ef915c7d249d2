"""Gradients per second with stragglers and without: DDP, fixed cutoffs, `bayes`. `python -m benchmarks.live`."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from rich.console import Console
from rich.table import Table

from tailcut.engines.live.launch import launch

WORKERS = 8
MODES = ("ddp", "wait-all", "backup:c=7", "backup:c=6", "backup:c=5", "bayes", "bayes+stop")
JOB = str(Path(__file__).parent / "job.py")


def measured(mode: str, workers: int, settings: Sequence[str]) -> float:
    """Accepted gradients per second of one run; loading and connecting do not count."""
    with tempfile.TemporaryDirectory() as folder:
        if launch([JOB, mode, folder, *settings], workers):
            sys.exit(f"{mode} did not end as it should; what it said stands above.")
        lines = [json.loads((Path(folder) / f"{worker}.json").read_text()) for worker in range(workers)]
    return float(sum(line["accepted"] for line in lines) / max(line["seconds"] for line in lines))


def main(repeats: int = 3) -> None:
    """Every mode in turn, several times, and a table of ratios."""
    cases = {
        "10 % of the mini-batches take 9 times as long": ["--chance", "0.1"],
        "nothing is slow": ["--chance", "0", "--unit", "0.05"],
    }
    console = Console()
    for title, settings in cases.items():
        modes = MODES if "--chance 0.1" in " ".join(settings) else MODES[:2]
        found: dict[str, list[float]] = {mode: [] for mode in modes}
        for _ in range(repeats):
            for mode in modes:
                found[mode].append(measured(mode, WORKERS, settings))
        console.print(table(title, found))


def table(title: str, found: dict[str, list[float]]) -> Table:
    """Mean, best and worst, and how many times DDP's mean."""
    out = Table("", "gradients/s", "best", "worst", "over ddp", title=f"{title}, {WORKERS} workers")
    for mode, values in found.items():
        over = mean(values) / mean(found["ddp"])
        out.add_row(mode, f"{mean(values):.1f}", f"{max(values):.1f}", f"{min(values):.1f}", f"{over:.2f}")
    return out


if __name__ == "__main__":
    main()
