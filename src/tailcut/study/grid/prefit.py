"""The published forecaster's model, trained beforehand on fully observed rounds of a cluster, as in the paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from tailcut.fitting.bdsgd import BdsgdSettings, BdsgdTraining
from tailcut.fitting.bdsgd_file import write_bdsgd
from tailcut.fitting.loop import fit
from tailcut.study.source import Source

NAME = "bdsgd"
SEED = 2000
"""Of the run times it is trained on; no other run uses them."""
ROUNDS, EPOCHS, PATIENCE, WINDOW = 400, 60, 15, 10


def prefit(source: Callable[[str], Source], cluster: str, path: Path) -> None:
    """Train on a cluster and write the model; it costs the runs nothing."""
    torch.set_num_threads(1)
    rows = source(cluster).draw(SEED, ROUNDS).table.seconds
    training = BdsgdTraining(rows, BdsgdSettings(window=min(WINDOW, len(rows) // 2 - 1)), seed=0)
    report = fit(training, epochs=EPOCHS, patience=PATIENCE)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bdsgd(path, training.model(), {"epochs": str(report.standing.epochs)})
