"""How far the gradients of one update scatter, for the noise scale: two numbers of each worker, added up along."""

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
    """Of the gradients of some parameters.

    Args:
        named: all of them, in the order of the vector.
        prefix: what the names of those begin with that are looked at; empty for all.

    Raises:
        ParameterError: no name begins so.

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
        """The two numbers of this worker, whose gradients these are, times its samples."""
        return torch.tensor([self._chosen.squared(gradients) / samples**2, 1.0 / samples])

    def found(self, gradients: Tensor, sums: Sequence[float], workers: int, samples: int) -> Scatter:
        """From sums over the accepted workers.

        Args:
            gradients: sum of the gradients, each times its samples.
            sums: of the two numbers.
            workers: that are in it.
            samples: that are in it.
        """
        big = self._chosen.squared(gradients) / samples**2
        return Scatter(samples, big, sums[0] / workers, workers / sums[1])
