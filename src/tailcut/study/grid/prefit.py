"""The published forecaster's model, trained beforehand on fully observed rounds of a cluster, as in the paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from tailcut.errors import InputError
from tailcut.fitting.bdsgd import BdsgdSettings
from tailcut.fitting.bdsgd_file import write_bdsgd
from tailcut.fitting.fit_once import BEFOREHAND, FitOnce
from tailcut.policies import PARTS
from tailcut.study.lessons import every_row
from tailcut.study.source import Source

NAME = "bdsgd"
MIXTURE = "emission=mixture"
WINDOW = 10


def needs_model(policy: str) -> bool:
    """Return whether a policy's name stands for the published forecaster without a model.

    Example:
        >>> needs_model("bdsgd:see=closed"), needs_model("bdsgd:model=m.safetensors"), needs_model("bayes")
        (True, False, False)
    """
    return policy.split(":")[0] == NAME and "model=" not in policy


def is_mixture(policy: str) -> bool:
    """Return whether a policy's name requests our variant with a mixture emission."""
    return MIXTURE in policy.split(":")


def with_model(policy: str, path: Path) -> str:
    """Return the policy's name with a trained model, which brings its own emission.

    Example:
        >>> with_model("bdsgd:emission=mixture:see=closed", Path("m"))
        'bdsgd:see=closed:model=m'
    """
    return ":".join([part for part in policy.split(":") if part != MIXTURE] + [f"model={path}"])


def prefit(source: Callable[[str], Source], cluster: str, path: Path, mixture: bool = False) -> None:
    """Train on a separate draw of a cluster and write the model; runs spend no time on it.

    Raises:
        InputError: the cluster is a recorded table, all of whose rounds are measured.
    """
    torch.set_num_threads(1)
    table = source(cluster).separate(BEFOREHAND)
    if table is None:
        raise InputError(
            f"bdsgd needs a model for {cluster}, a recorded table: a study measures all of its rounds, and none are "
            f"left to train on. Fit one to other rounds of that cluster (tailcut fit --kind {NAME}) and name it: "
            f"{NAME}:model=FILE."
        )
    settings = BdsgdSettings(window=min(WINDOW, table.rounds // 2 - 1), parts=PARTS if mixture else 1)
    model = FitOnce(settings=settings).trained(every_row(table)).model
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bdsgd(path, model, {"source": cluster, "rounds": str(table.rounds)})
