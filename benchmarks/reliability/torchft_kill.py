"""One of eight workers is killed, under tailcut and under torchft 0.2.0 in turn: when do the others go on?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean, median

from benchmarks.claims import Claim, print_table
from benchmarks.live.measure import has_torchft, with_rivals
from benchmarks.reliability.rivals.job import DIES_AT
from tailcut.engines.live.launch import launch

WORKERS, MOST_TIMES = 8, 5
LAST = 12
"""Lines that are shown of a run that failed."""
JOB = str(Path(__file__).parent / "rivals" / "job.py")


def main(times: int) -> list[Claim]:
    """Run in turn, and report as it is."""
    modes = ["tailcut", "torchft"] if has_torchft() else ["tailcut"]
    found: dict[str, list[tuple[float, int]]] = {mode: [] for mode in modes}
    for _ in range(min(times, MOST_TIMES)):
        for mode in modes:
            ended = killed(mode)
            found[mode] += [] if ended is None else [ended]
    rows = [_row(mode, runs) for mode, runs in found.items()]
    columns = (
        "",
        "runs that ended well",
        "until the others go on, s",
        "best",
        "worst",
        "steps of each other worker that came to nothing",
    )
    print_table(f"One of {WORKERS} workers is killed, a million numbers, 50 ms of work", columns, rows)
    if "torchft" not in found:
        return [
            Claim("tailcut goes on sooner than torchft", "torchft is not installed: make bench-live", False)
        ]
    ours, theirs = (_mean([gap for gap, _ in found[mode]]) for mode in ("tailcut", "torchft"))
    return [Claim("tailcut goes on sooner than torchft", f"{ours:.2f} and {theirs:.2f} s", ours < theirs)]


def killed(mode: str) -> tuple[float, int] | None:
    """Longest time between two updates at a survivor after the death, and steps that came to nothing at one of them.

    None where the run failed.
    """
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        with_rivals(mode)
        code = launch([JOB, mode, folder], WORKERS, tell=lines.append)
        if code:
            print(
                f"{mode} ended with exit code {code}. It said last:", *lines[-LAST:], sep="\n  ", flush=True
            )
            return None
        told = [_steps(Path(folder) / f"{worker}.jsonl") for worker in range(WORKERS - 1)]
    gaps = [
        max(b - a for a, b in pairwise([at for at, made in steps if made][DIES_AT - 1 :])) for steps in told
    ]
    lost = [sum(not made for _, made in steps[DIES_AT - 1 :]) for steps in told]
    return max(gaps), max(lost)


def _steps(file: Path) -> list[tuple[float, bool]]:
    return [(at, made) for at, made in map(json.loads, file.read_text().splitlines())]


def _row(mode: str, runs: Sequence[tuple[float, int]]) -> list[str]:
    if not runs:
        return [mode, "0", "", "", "", ""]
    gaps = [gap for gap, _ in runs]
    figures = [f"{mean(gaps):.2f}", f"{min(gaps):.2f}", f"{max(gaps):.2f}"]
    return [mode, str(len(runs)), *figures, f"{median(lost for _, lost in runs):g}"]


def _mean(gaps: Sequence[float]) -> float:
    return mean(gaps) if gaps else float("inf")
