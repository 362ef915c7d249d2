"""Model files of the published `bdsgd`, trained offline as in the paper: once per source, on fully observed rounds."""

from __future__ import annotations

from pathlib import Path

from tailcut.fitting.bdsgd import BdsgdSettings, BdsgdTraining
from tailcut.fitting.bdsgd_file import write_bdsgd
from tailcut.fitting.loop import fit
from tailcut.types import FloatArray

SEED = 1000
"""Seed of the cluster sample for training; no table below uses it."""
ROUNDS = 600
EPOCHS, PATIENCE = 100, 20
WINDOW = 10


def train(rows: FloatArray, path: Path, epochs: int = EPOCHS) -> str:
    """Train on `(rounds, n)` seconds, write the model, and return the policy that uses it.

    The window is shorter where there are few rounds.
    """
    window = min(WINDOW, len(rows) // 2 - 1)
    training = BdsgdTraining(rows, BdsgdSettings(window=window), seed=0)
    report = fit(training, epochs=epochs, patience=PATIENCE)
    write_bdsgd(path, training.model(), {"epochs": str(report.standing.epochs)})
    return f"bdsgd:model={path}"
