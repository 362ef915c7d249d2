"""A noisy quadratic bowl: optimum, loss and noise scale are known exactly, for the theory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, final

import numpy as np
import torch
from torch import Tensor, nn

from tailcut.learning import draws
from tailcut.learning.tasks.base import Batch, Predict, Target, Task
from tailcut.learning.tasks.checks import positive, require, whole
from tailcut.types import IntArray

OPTIMUM_SEED, START = 20_140_611, 7


class Point(nn.Module):
    """A net that returns its parameters for any input, as `(samples, dimension)`."""

    def __init__(self, start: Tensor) -> None:
        super().__init__()
        self.w = nn.Parameter(start)

    def forward(self, noise: Tensor) -> Tensor:
        """Return the parameters for each sample of `noise`, `(samples, dimension)`."""
        return self.w.expand(noise.shape[0], -1)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Quadratic(Task):
    """A noisy quadratic bowl, whose optimum and noise scale are known.

    loss_i(w) = ½ (w − w*)ᵀ H (w − w*) + ξ_iᵀ (w − w*), with diagonal H and ξ_i ~ N(0, Σ), each sample its own.
    The mean over all samples, F(w), is the first term; a sample's gradient is H (w − w*) + ξ_i. So the noise scale
    B = tr(Σ)/|∇F|² (McCandlish et al., arXiv 1812.06162) is small far from w* and grows without bound on the way.

    Attributes:
        batch: samples in a worker's mini-batch.
        dimension: length of w.
        condition: largest over smallest curvature; they lie from 1/condition to 1, evenly in the logarithm.
        sigma: size of the noise.
        noise: `white`, Σ = sigma²·I, or `curvature`, Σ = sigma²·H.
        goal: the share of the mean first loss at which a run has reached its target.

    Example:
        >>> task = Quadratic(dimension=2, condition=1.0)
        >>> round(task.noise_scale(Point(task.optimum + 1.0)), 6)
        1.0
    """

    batch: int = 8
    dimension: int = 100
    condition: float = 10.0
    sigma: float = 1.0
    noise: Literal["white", "curvature"] = "white"
    goal: float = 0.01
    optimum: Tensor = field(init=False, repr=False)
    curvatures: Tensor = field(init=False, repr=False)

    def __post_init__(self) -> None:
        whole("batch", self.batch)
        whole("dimension", self.dimension)
        require(
            1 <= self.condition < math.inf, "condition must be at least 1", self.condition, "give 10, say"
        )
        positive("sigma", self.sigma)
        positive("goal", self.goal)
        known = ("white", "curvature")
        require(self.noise in known, f"noise must be one of {known}", self.noise, "write white")
        axes = np.arange(self.dimension)
        at = torch.from_numpy(draws.normal(OPTIMUM_SEED, axes)).float()
        object.__setattr__(self, "optimum", at)
        curvatures = torch.logspace(0.0, -math.log10(self.condition), self.dimension, dtype=torch.float64)
        object.__setattr__(self, "curvatures", curvatures.float())

    @property
    def target(self) -> Target:
        """The loss to reach, a share of ½·tr(H), with which runs begin on average."""
        return Target("loss", self.goal * 0.5 * float(self.curvatures.sum()), "most")

    def net(self, seed: int) -> nn.Module:
        """Make a point whose distance from the optimum is standard normal along each axis."""
        away = draws.normal(seed, np.arange(self.dimension), START)
        return Point(self.optimum + torch.from_numpy(away).float())

    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        """`(k · size, dimension)` noise."""
        place = (workers[:, None, None], numbers[:, None, None], np.arange(size)[:, None])
        noise = draws.normal(seed, *place, np.arange(self.dimension))
        return (torch.from_numpy(noise).float().flatten(0, 1) * self._spread(),)

    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        """Return the `(samples,)` losses; noise can make them negative."""
        (noise,) = batch
        away = predict(noise) - self.optimum
        return (away * (0.5 * self.curvatures * away + noise)).sum(-1)

    def evaluate(self, net: nn.Module) -> dict[str, float]:
        """Return the exact F(w) and the noise scale there."""
        away = self._away(net)
        loss = 0.5 * float((self.curvatures.double() * away**2).sum())
        return {"loss": loss, "noise_scale": self.noise_scale(net)}

    def noise_scale(self, net: nn.Module) -> float:
        """tr(Σ)/|∇F|² at the net's parameters, in samples; infinite at the optimum."""
        steepness = float(((self.curvatures.double() * self._away(net)) ** 2).sum())
        total = float((self._spread().double() ** 2).sum())
        return total / steepness if steepness > 0 else math.inf

    def _away(self, net: nn.Module) -> Tensor:
        (point,) = net.parameters()
        return point.detach().double() - self.optimum.double()

    def _spread(self) -> Tensor:
        """`(dimension,)` standard deviation of the noise along each axis."""
        white = torch.full_like(self.curvatures, self.sigma)
        return white if self.noise == "white" else white * self.curvatures.sqrt()
