"""One run of a job in several processes, and several ways to train in turn, several times."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from benchmarks.claims import print_table
from tailcut.engines.live.launch import launch

JOB = str(Path(__file__).parent / "jobs" / "__main__.py")
RIVALS = Path(__file__).parents[2] / ".venv" / "rivals"
"""Folder where `make bench-live` installs the packages that only this comparison needs."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: gradients used per second, and seconds per update."""

    gradients: float
    update: float


def measured(mode: str, workers: int, settings: Sequence[str], folder: Path | None = None) -> Measured:
    """Run one way to train once; connecting does not count.

    Args:
        mode: first argument of the job.
        workers: number of processes.
        settings: further arguments of the job.
        folder: keeps the files of the job; by default they are deleted.
    """
    with tempfile.TemporaryDirectory() as temporary:
        out = folder or Path(temporary)
        with_rivals(mode)
        if launch([JOB, mode, str(out), *settings], workers):
            sys.exit(f"{mode} did not end as it should; what it said stands above.")
        lines = [json.loads((out / f"{worker}.json").read_text()) for worker in range(workers)]
    seconds = max(line["seconds"] for line in lines)
    updates = int(settings[list(settings).index("--updates") + 1])
    return Measured(sum(line["accepted"] for line in lines) / seconds, seconds / updates)


def in_turn(
    modes: Sequence[str], workers: int, settings: Sequence[str], repeats: int
) -> dict[str, list[Measured]]:
    """Measure the modes in turn, `repeats` times, so that other load on the machine affects all of them."""
    found: dict[str, list[Measured]] = {mode: [] for mode in modes}
    for _ in range(repeats):
        for mode in modes:
            found[mode].append(measured(mode, workers, settings))
    return found


def over(found: dict[str, list[Measured]], mode: str, base: str = "ddp") -> float:
    """Return the ratio of a mode's gradients per second to those of `base`, both means over runs."""
    return mean(run.gradients for run in found[mode]) / mean(run.gradients for run in found[base])


def show(title: str, found: dict[str, list[Measured]], base: str = "ddp") -> None:
    """Print the mean, best and worst rate of each mode."""
    rows = []
    for mode, runs in found.items():
        rates = [run.gradients for run in runs]
        figures = [f"{mean(rates):.1f}", f"{max(rates):.1f}", f"{min(rates):.1f}"]
        rows.append([mode, *figures, f"{over(found, mode, base):.2f}"])
    print_table(title, ("", "gradients/s", "best", "worst", f"over {base}"), rows)


def has_torchft() -> bool:
    """Return whether torchft is installed for this benchmark."""
    return (RIVALS / "torchft").is_dir()


def with_rivals(mode: str) -> None:
    """Put torchft on the path for its own mode only, because it brings packages of its own."""
    os.environ["PYTHONPATH"] = str(RIVALS) if mode == "torchft" else ""
    # torchft tells of every step otherwise.
    os.environ["RUST_LOG"] = "error"
