"""Optimizers of torch by name, over one vector of parameters."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tailcut.errors import UnknownNameError

OPTIMISERS: dict[str, Callable[[list[Tensor], float], torch.optim.Optimizer]] = {
    "sgd": lambda parameters, rate: torch.optim.SGD(parameters, lr=rate),
    "momentum": lambda parameters, rate: torch.optim.SGD(parameters, lr=rate, momentum=0.9),
    "adam": lambda parameters, rate: torch.optim.Adam(parameters, lr=rate),
    "rmsprop": lambda parameters, rate: torch.optim.RMSprop(
        parameters, lr=rate, alpha=0.9, momentum=0.9, eps=1.0
    ),
}
"""Optimizers by name; rmsprop has the settings of Chen et al. (1604.00981)."""


def optimiser(name: str, vector: Tensor, rate: float) -> torch.optim.Optimizer:
    """Make an optimizer of one vector.

    Raises:
        UnknownNameError: there is no optimizer of that name.
    """
    if name not in OPTIMISERS:
        raise UnknownNameError("optimiser", name, OPTIMISERS)
    return OPTIMISERS[name]([vector], rate)
