"""Conversion of a trainer's state to arrays and back, so that a training resumes bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tailcut.learning.trainer import Trainer
from tailcut.noise import after
from tailcut.types import Measured
from tailcut.work import Work

Arrays: TypeAlias = dict[str, NDArray[Any]]


def arrays_of(trainer: Trainer) -> Arrays:
    """Return the parameters, their average, the optimizer's state, and the state for stale gradients."""
    out: Arrays = {"vector": _numbers(trainer.net.vector), "updates": np.array([trainer.updates])}
    if trainer.average is not None:
        out["average"], out["covered"] = _numbers(trainer.average), np.array([trainer.covered])
    out |= {f"optimiser.{key}": value for key, value in optimiser_arrays(trainer.optimiser).items()}
    out |= {f"kept.{version}": _numbers(vector) for version, vector in trainer.kept.items()}
    for work, (gradient, loss) in trainer.ahead.items():
        place = f"{work.worker}.{work.version}.{work.number}"
        out[f"ahead.{place}"], out[f"loss.{place}"] = _numbers(gradient), np.array([loss])
    return out


def restore(trainer: Trainer, arrays: Arrays, measured: Sequence[Measured]) -> None:
    """Restore the state that `arrays_of` returned, and the noise scale from the updates' measurements."""
    trainer.updates = int(arrays["updates"][0])
    like = trainer.net.vector
    with torch.no_grad():
        trainer.net.put(_tensor(arrays["vector"], like))
    if trainer.average is not None:
        trainer.average, trainer.covered = _tensor(arrays["average"], like), float(arrays["covered"][0])
    put_optimiser_arrays(trainer.optimiser, _under("optimiser.", arrays))
    trainer.kept = {int(key): _tensor(value, like) for key, value in _under("kept.", arrays).items()}
    trainer.ahead = {
        Work(*map(int, key.split("."))): (_tensor(value, like), float(arrays[f"loss.{key}"][0]))
        for key, value in _under("ahead.", arrays).items()
    }
    for each in measured:
        trainer.noise = after(trainer.noise, each)


def optimiser_arrays(optimiser: torch.optim.Optimizer) -> Arrays:
    """Return the state of an optimizer of one vector; empty before its first step."""
    state = optimiser.state_dict()["state"].get(0, {})
    return {key: _numbers(torch.as_tensor(value)) for key, value in state.items() if value is not None}


def put_optimiser_arrays(optimiser: torch.optim.Optimizer, arrays: Arrays) -> None:
    """Restore the state that `optimiser_arrays` returned."""
    if arrays:
        state = {key: torch.tensor(value) for key, value in arrays.items()}
        groups = optimiser.state_dict()["param_groups"]
        optimiser.load_state_dict({"state": {0: state}, "param_groups": groups})


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}


def _numbers(tensor: Tensor) -> NDArray[Any]:
    out: NDArray[Any] = tensor.detach().cpu().numpy().copy()
    return out


def _tensor(array: NDArray[Any], like: Tensor) -> Tensor:
    return torch.tensor(array, dtype=like.dtype, device=like.device)
