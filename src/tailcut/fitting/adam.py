"""The base of trainings with Adam, whose whole state can be saved as arrays and restored."""

# ruff: noqa: E402

from __future__ import annotations

from tailcut.extras import require

require("Fitting a model", "torch")

import numpy as np
import torch
from torch import Tensor

from tailcut.fitting.loop import Arrays, Standing, Training


class AdamTraining(Training):
    """The base of trainings with Adam; a subclass trains in `epoch` and passes its loss to `_ended`.

    Args:
        module: the network, with its first weights.
        rate: Adam's first step size.
        weight_decay: weight decay of AdamW.
        generator: random generator for the whole training.
    """

    def __init__(
        self, module: torch.nn.Module, rate: float, weight_decay: float, generator: torch.Generator
    ) -> None:
        self._trained, self._generator = module, generator
        self._optimiser = torch.optim.AdamW(module.parameters(), lr=rate, weight_decay=weight_decay)
        self._standing = Standing()
        self._best = weights_of(module)

    def standing(self) -> Standing:
        """Return the progress of the training."""
        return self._standing

    def arrays(self) -> Arrays:
        """Weights, best weights, Adam's moments, standing and the generator's state."""
        out: Arrays = {f"now.{name}": array for name, array in weights_of(self._trained).items()}
        out |= {f"best.{name}": array.copy() for name, array in self._best.items()}
        for index, state in self._optimiser.state_dict()["state"].items():
            out |= {f"adam.{index}.{name}": _numbers(value) for name, value in state.items()}
        standing = self._standing
        out["epochs"] = np.array([standing.epochs, standing.best_epoch], dtype=np.int64)
        out["best_loss"] = np.array([min(standing.best_loss, np.finfo(np.float64).max)])
        out["random"] = _numbers(self._generator.get_state())
        return out

    def restore(self, arrays: Arrays) -> None:
        """Restore a state from `arrays` of a training with the same data, settings and seed."""
        now = {name: torch.tensor(array) for name, array in _under("now.", arrays).items()}
        self._trained.load_state_dict(now)
        moments: dict[int, dict[str, Tensor]] = {}
        for name, array in _under("adam.", arrays).items():
            index, _, key = name.partition(".")
            moments.setdefault(int(index), {})[key] = torch.tensor(array)
        groups = self._optimiser.state_dict()["param_groups"]
        self._optimiser.load_state_dict({"state": moments, "param_groups": groups})
        self._generator.set_state(torch.tensor(arrays["random"]))
        epochs, best_epoch = (int(value) for value in arrays["epochs"])
        best_loss = float(arrays["best_loss"][0]) if best_epoch else float("inf")
        self._best = {name: array.copy() for name, array in _under("best.", arrays).items()}
        self._standing = Standing(epochs, best_epoch, best_loss)

    def model_arrays(self) -> Arrays:
        """Weights of the best epoch so far."""
        return {name: array.copy() for name, array in self._best.items()}

    def _at_rate(self, rate: float) -> None:
        """Take steps of this size from now on."""
        for group in self._optimiser.param_groups:
            group["lr"] = rate

    def _ended(self, loss: float) -> float:
        """Record a finished epoch with its held-out loss; keep the weights if they are the best so far."""
        self._standing = self._standing.after(loss)
        if self._standing.best_epoch == self._standing.epochs:
            self._best = weights_of(self._trained)
        return loss


def weights_of(module: torch.nn.Module) -> Arrays:
    """A network's weights by name, copied."""
    return {name: _numbers(tensor) for name, tensor in module.state_dict().items()}


def _numbers(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy().copy()


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
