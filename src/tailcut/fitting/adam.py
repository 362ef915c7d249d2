"""All that a training with Adam stands on, as arrays and back."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tailcut.fitting.loop import Arrays, Standing


def numbers(tensor: Tensor) -> np.ndarray:
    """A copy of a tensor as an array."""
    return tensor.detach().numpy().copy()


def weights_of(module: torch.nn.Module) -> Arrays:
    """A network's weights by name, copied."""
    return {name: numbers(tensor) for name, tensor in module.state_dict().items()}


def as_arrays(
    module: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    best: Arrays,
    standing: Standing,
    generator: torch.Generator,
) -> Arrays:
    """Weights, best weights, Adam's moments, standing and the generator's state."""
    out: Arrays = {f"now.{name}": array for name, array in weights_of(module).items()}
    out |= {f"best.{name}": array.copy() for name, array in best.items()}
    for index, state in optimiser.state_dict()["state"].items():
        out |= {f"adam.{index}.{name}": numbers(value) for name, value in state.items()}
    out["epochs"] = np.array([standing.epochs, standing.best_epoch], dtype=np.int64)
    out["best_loss"] = np.array([min(standing.best_loss, np.finfo(np.float64).max)])
    out["random"] = numbers(generator.get_state())
    return out


def from_arrays(
    arrays: Arrays, module: torch.nn.Module, optimiser: torch.optim.Optimizer, generator: torch.Generator
) -> tuple[Arrays, Standing]:
    """Put network, optimiser and generator where `as_arrays` found them; the best weights and the standing."""
    module.load_state_dict({name: torch.tensor(array) for name, array in _under("now.", arrays).items()})
    moments: dict[int, dict[str, Tensor]] = {}
    for name, array in _under("adam.", arrays).items():
        index, _, key = name.partition(".")
        moments.setdefault(int(index), {})[key] = torch.tensor(array)
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": moments, "param_groups": groups})
    generator.set_state(torch.tensor(arrays["random"]))
    epochs, best_epoch = (int(value) for value in arrays["epochs"])
    best_loss = float(arrays["best_loss"][0]) if best_epoch else float("inf")
    best = {name: array.copy() for name, array in _under("best.", arrays).items()}
    return best, Standing(epochs, best_epoch, best_loss)


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
