"""The scatter of the gradients in one update, for the noise scale, by two more numbers of each worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor, nn

from tailcut.engines.live.messages import Scatter
from tailcut.learning.chosen import Chosen

SCATTER = 2
"""Numbers of each worker: the squared norm of its mean gradient, and one over its samples."""


@final
class Scattering:
    """The scatter of the gradients of some parameters.

    Args:
        named: all parameters by name, in the order of the vector.
        prefix: prefix of the parameter names that are looked at; empty for all.

    Raises:
        ParameterError: no name begins with the prefix.

    Example:
        >>> found = Scattering([("weight", nn.Parameter(torch.zeros(2)))], "")
        >>> found.own(torch.tensor([2.0, 2.0]), samples=2)
        tensor([2.0000, 0.5000])
        >>> found.found(torch.tensor([4.0, 4.0]), [3.0, 1.0], workers=2, samples=4)
        Scatter(samples=4, big=2.0, small=1.5, small_samples=2.0)
    """

    def __init__(self, named: Sequence[tuple[str, nn.Parameter]], prefix: str) -> None:
        self._chosen = Chosen([name for name, _ in named], [each.numel() for _, each in named], prefix)

    def own(self, gradients: Tensor, samples: int) -> Tensor:
        """Return the two numbers of this worker; `gradients` are its gradients times its samples."""
        return torch.tensor([self._chosen.squared(gradients) / samples**2, 1.0 / samples])

    def found(self, gradients: Tensor, sums: Sequence[float], workers: int, samples: int) -> Scatter:
        """Return the scatter of an update, from sums over the accepted workers.

        Args:
            gradients: sum of the gradients, each times its samples.
            sums: sums of the two numbers.
            workers: number of workers in the update.
            samples: number of samples in the update.
        """
        big = self._chosen.squared(gradients) / samples**2
        return Scatter(samples, big, sums[0] / workers, workers / sums[1])
