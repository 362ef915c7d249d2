"""The value of gradients: the objective that rules divide by time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.types import FloatArray

_NODES = 4
"""Nodes of the quadrature over an uncertain count: within about 1 % for workers that are alike, whatever the noise."""

_NEGLIGIBLE = 1e-12
"""Expected gradients below which it does not matter how their number is spread."""


class Objective(ABC):
    """A non-decreasing value of the number of gradients in a round.

    Only differences and ratios of values matter, so the unit is free: the first gradient is worth 1. A rule that
    decides during the round needs the expected value when the count is uncertain, given its mean and variance.
    """

    @abstractmethod
    def value(self, counts: FloatArray) -> FloatArray:
        """Return the values of numbers of gradients, in the same shape; the value of 0 gradients is 0."""

    @abstractmethod
    def expected(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """E[value(N)] for a count N with the given mean and variance."""

    @property
    @abstractmethod
    def needs_variance(self) -> bool:
        """Return whether `expected` uses the variance; if not, rules need not compute it."""


@final
@dataclass(frozen=True, slots=True)
class Count(Objective):
    """Every gradient is worth the same: value(c) = c, throughput is what counts."""

    def value(self, counts: FloatArray) -> FloatArray:
        """Return the count itself."""
        return counts

    def expected(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """The mean: expectation is linear."""
        del variance
        return mean

    @property
    def needs_variance(self) -> bool:
        """Return False."""
        return False


@final
@dataclass(frozen=True, slots=True)
class Gain(Objective):
    """Expected decrease of the loss, c·m / (c·m + B), in units of what one gradient brings.

    With the best learning rate an update of c mini-batches of m samples lowers the loss by ΔL_max / (1 + B/(c·m)),
    B the gradient noise scale (McCandlish et al. 2018, arXiv 1812.06162). Over its value at c = 1 that is

        value(c) = c / (1 + u·(c − 1)),   u = m / (m + B),

    so that nothing under- or overflows. Where noise dominates (u = 0) every gradient is worth the same, as with
    `Count`; where there is none (u = 1) the first one is worth all.

    Attributes:
        noise: B in samples, 0 to infinite.
        batch: m, samples in one worker's mini-batch.

    Example:
        >>> Gain(noise=96.0, batch=32.0).value(np.array([0.0, 1.0, 4.0, 1000.0])).round(2).tolist()
        [0.0, 1.0, 2.29, 3.99]
    """

    noise: float
    batch: float

    def __post_init__(self) -> None:
        if not self.noise >= 0:
            raise ParameterError(f"noise must be 0 or more samples, but got {self.noise}; give 0.0 for none.")
        if not 0 < self.batch < math.inf:
            raise ParameterError(
                f"batch must be over 0 and finite, but got {self.batch}; give 32 samples, say."
            )

    @property
    def fading(self) -> float:
        """u, from 0 (every gradient is worth the same) to 1 (only the first counts)."""
        return 1.0 / (1.0 + self.noise / self.batch)

    def value(self, counts: FloatArray) -> FloatArray:
        """Return the values by the formula above; the value of 0 gradients is 0."""
        some = counts > 0
        # The difference may round to 0 or below; the minimum keeps the quotient finite.
        below = np.maximum(1.0 + self.fading * (counts - 1.0), np.minimum(counts, 1.0))
        return np.where(some, counts, 0.0) / np.where(some, below, 1.0)

    def expected(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """E[N / (1 + u·(N − 1))], from the two moments alone.

        Counting each outcome in proportion to N, as E[N · f(N)] = E[N]·E[f(1 + M)] does, takes the singularity at
        N = 0 away: what is left is mean·E[1 / (1 + u·M)] with E[M] = mean − p, p = 1 − variance/mean. M is taken as
        binomial with chance p (Poisson at 0, negative binomial below), and its expectation is a Gauss quadrature,
        written as the continued fraction of the law's orthogonal polynomials. Exact with one worker and with a certain
        count, never above the value of the mean; where workers differ much, up to 7 % too low.
        """
        u, some = self.fading, mean > _NEGLIGIBLE
        centre = np.where(some, mean, 1.0)
        # A mean that is not whole has a least variance; below it there is no such count.
        chance = np.minimum(1.0 - variance / centre, centre)
        more = centre - chance
        below = np.ones_like(centre)
        for node in range(_NODES - 1, -1, -1):
            place = 1.0 + u * np.maximum(more + node * (1.0 - 2.0 * chance), 0.0)
            spread = (node + 1) * (1.0 - chance) * np.maximum(more - node * chance, 0.0)
            below = place if node == _NODES - 1 else place - u * u * spread / below
        return mean / np.where(some, below, 1.0)

    @property
    def needs_variance(self) -> bool:
        """Return whether gradients differ in value."""
        return self.fading > 0
