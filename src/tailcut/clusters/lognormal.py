"""Log-normal run times, and the same with a heavy tail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.clusters.checks import chance, positive, require
from tailcut.clusters.laws import Law
from tailcut.types import FloatArray, Seconds

_TINY = float(np.finfo(np.float64).tiny)


@final
@dataclass(frozen=True, slots=True)
class LogNormal(Law):
    """A law whose logarithm is normal with standard deviation `sigma`; its median is `median` seconds."""

    median: Seconds = 1.0
    sigma: float = 0.2

    def __post_init__(self) -> None:
        positive("median", self.median)
        positive("sigma", self.sigma)

    def survival(self, t: FloatArray) -> FloatArray:
        """P(x > t) = Φ(log(median/t)/sigma)."""
        return lognormal_survival(t, math.log(self.median), self.sigma)

    def quantile(self, p: FloatArray) -> FloatArray:
        """median·exp(sigma·Φ⁻¹(p))."""
        from scipy.special import ndtri

        return self.median * np.exp(self.sigma * ndtri(p))

    def mean(self) -> Seconds:
        """median·exp(sigma²/2)."""
        return self.median * math.exp(self.sigma**2 / 2)

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws; normal deviates are faster than quantiles."""
        return self.median * np.exp(self.sigma * rng.standard_normal(shape))


def lognormal_survival(t: FloatArray, mu: FloatArray | float, sigma: float) -> FloatArray:
    """P(exp(mu + sigma·Z) > t) for standard normal Z; `t` and `mu` broadcast together."""
    from scipy.special import ndtr

    return ndtr((mu - np.log(np.maximum(t, _TINY))) / sigma)


@final
@dataclass(frozen=True, slots=True)
class ParetoTailed(Law):
    """A log-normal body whose upper share `tail` is replaced by a Pareto tail of index `alpha`.

    With q the body's quantile at 1 - tail: P(x > t) is log-normal up to q and tail·(t/q)^-alpha beyond.
    """

    median: Seconds = 1.0
    sigma: float = 0.1
    alpha: float = 1.5
    tail: float = 0.05

    def __post_init__(self) -> None:
        positive("median", self.median)
        positive("sigma", self.sigma)
        positive("alpha", self.alpha)
        chance("tail", self.tail)
        require(self.tail < 1, "tail must be < 1", self.tail, "leave some of the body")

    @property
    def threshold(self) -> Seconds:
        """The seconds at which the tail begins."""
        from scipy.special import ndtri

        return float(self.median * math.exp(-self.sigma * ndtri(self.tail)))

    def survival(self, t: FloatArray) -> FloatArray:
        """P(x > t), of the body up to the threshold and of the tail beyond."""
        q = self.threshold
        body = lognormal_survival(t, math.log(self.median), self.sigma)
        return np.where(t <= q, body, self.tail * np.maximum(t / q, 1.0) ** -self.alpha)

    def quantile(self, p: FloatArray) -> FloatArray:
        """The quantile of the body for p up to 1 - tail, of the tail beyond."""
        from scipy.special import ndtri

        body = self.median * np.exp(self.sigma * ndtri(p))
        beyond = np.minimum((1 - p) / self.tail, 1.0)
        return np.where(p <= 1 - self.tail, body, self.threshold * beyond ** (-1 / self.alpha))

    def mean(self) -> Seconds:
        """The mean; infinite for alpha <= 1."""
        from scipy.special import ndtr, ndtri

        if self.alpha <= 1:
            return math.inf
        below = LogNormal(self.median, self.sigma).mean() * float(ndtr(-ndtri(self.tail) - self.sigma))
        return below + self.tail * self.threshold * self.alpha / (self.alpha - 1)
