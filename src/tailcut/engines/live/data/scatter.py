"""How far the gradients of one update scatter, for the noise scale: two numbers of each worker, added up along."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tailcut.engines.live.messages import Scatter

SCATTER = 2
"""Numbers of each worker: the squared norm of its mean gradient, and one over its samples."""


def scatter_in(gradients: Tensor, sums: Sequence[float], workers: int, samples: int) -> Scatter:
    """From sums over the accepted workers.

    Args:
        gradients: sum of the gradients, each times its samples.
        sums: of the two numbers.
        workers: that are in it.
        samples: that are in it.

    Example:
        >>> import torch
        >>> scatter_in(torch.tensor([4.0, 4.0]), [3.0, 1.0], workers=2, samples=4)
        Scatter(samples=4, big=2.0, small=1.5, small_samples=2.0)
    """
    big = float(gradients.square().sum()) / samples**2
    return Scatter(samples, big, sums[0] / workers, workers / sums[1])
