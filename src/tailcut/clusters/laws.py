"""Laws of one positive number of seconds, from which a single run time, or a delay, is drawn.

`lognormal.py` adds the log-normal ones, `compound.py` builds further laws out of others. Every law has
samples, a survival function, quantiles and a mean, which agree with each other.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.clusters.checks import at_least, positive, require
from tailcut.types import FloatArray, Seconds

LEVELS: FloatArray = np.linspace(1e-4, 1 - 1e-4, 256)
"""Probabilities whose quantiles show where a law has its mass."""

_TINY = float(np.finfo(np.float64).tiny)


class Law(ABC):
    """The law of one non-negative number of seconds. Subclasses are final frozen dataclasses."""

    @abstractmethod
    def survival(self, t: FloatArray) -> FloatArray:
        """P(x > t), elementwise; 1 for negative t."""

    @abstractmethod
    def quantile(self, p: FloatArray) -> FloatArray:
        """The smallest seconds x with P(X <= x) >= p, elementwise; 0 < p < 1."""

    @abstractmethod
    def mean(self) -> Seconds:
        """The expected seconds; infinite where the tail is too heavy to have one."""

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws, an array of that shape."""
        return self.quantile(open_uniform(rng, shape))

    def landmarks(self) -> FloatArray:
        """`(any,)` seconds that a time grid has to resolve: quantiles, of each part if the law has parts."""
        return self.quantile(LEVELS)


def open_uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Uniform draws that are never exactly 0 or 1, where quantiles may be 0 or infinite."""
    u: FloatArray = np.maximum(rng.random(shape), 2.0**-54)
    return u


@final
@dataclass(frozen=True, slots=True)
class Deterministic(Law):
    """The constant `value`, >= 0 seconds."""

    value: Seconds = 1.0

    def __post_init__(self) -> None:
        at_least("value", self.value, 0)

    def survival(self, t: FloatArray) -> FloatArray:
        """P(x > t): 1 before the value, 0 from it on."""
        return np.where(t < self.value, 1.0, 0.0)

    def quantile(self, p: FloatArray) -> FloatArray:
        """The value, whatever p."""
        return np.full(np.shape(p), self.value)

    def mean(self) -> Seconds:
        """The value."""
        return self.value


@final
@dataclass(frozen=True, slots=True)
class Uniform(Law):
    """Uniform between `low` and `high` seconds."""

    low: Seconds = 0.5
    high: Seconds = 1.5

    def __post_init__(self) -> None:
        at_least("low", self.low, 0)
        require(
            self.low < self.high < math.inf, f"high must exceed low = {self.low:g}", self.high, "raise high"
        )

    def survival(self, t: FloatArray) -> FloatArray:
        """P(x > t), a straight line."""
        return np.clip((self.high - t) / (self.high - self.low), 0.0, 1.0)

    def quantile(self, p: FloatArray) -> FloatArray:
        """The p-th part of the way from low to high."""
        return self.low + (self.high - self.low) * p

    def mean(self) -> Seconds:
        """The middle between low and high."""
        return (self.low + self.high) / 2


@final
@dataclass(frozen=True, slots=True)
class TruncatedNormal(Law):
    """Normal with mean `mu` and standard deviation `sigma` seconds, given that it is > 0."""

    mu: Seconds = 1.0
    sigma: Seconds = 0.2

    def __post_init__(self) -> None:
        at_least("mu", self.mu, 0)
        positive("sigma", self.sigma)

    @property
    def _kept(self) -> float:
        from scipy.special import ndtr

        return float(ndtr(self.mu / self.sigma))

    def survival(self, t: FloatArray) -> FloatArray:
        """P(x > t) = Φ((mu - t)/sigma) / Φ(mu/sigma) for t >= 0."""
        from scipy.special import ndtr

        return np.minimum(ndtr((self.mu - t) / self.sigma) / self._kept, 1.0)

    def quantile(self, p: FloatArray) -> FloatArray:
        """The inverse of the survival function at 1 - p."""
        from scipy.special import ndtri

        # Rounding can put the lowest quantiles a hair below 0.
        return np.maximum(self.mu - self.sigma * ndtri((1 - p) * self._kept), _TINY)

    def mean(self) -> Seconds:
        """The mean of the normal plus sigma·φ(mu/sigma)/Φ(mu/sigma)."""
        density = math.exp(-0.5 * (self.mu / self.sigma) ** 2) / math.sqrt(2 * math.pi)
        return self.mu + self.sigma * density / self._kept


@final
@dataclass(frozen=True, slots=True)
class ShiftedExponential(Law):
    """An exponential law with a mean of `scale` seconds, shifted by `shift` seconds."""

    shift: Seconds = 0.5
    scale: Seconds = 0.5

    def __post_init__(self) -> None:
        at_least("shift", self.shift, 0)
        positive("scale", self.scale)

    def survival(self, t: FloatArray) -> FloatArray:
        """P(x > t) = exp(-(t - shift)/scale) for t >= shift."""
        return np.exp(-np.maximum(t - self.shift, 0.0) / self.scale)

    def quantile(self, p: FloatArray) -> FloatArray:
        """The shift minus scale·log(1 - p)."""
        return self.shift - self.scale * np.log1p(-p)

    def mean(self) -> Seconds:
        """The shift plus the scale."""
        return self.shift + self.scale


@final
@dataclass(frozen=True, slots=True)
class Gamma(Law):
    """A gamma law with a mean of `average` seconds and a standard deviation of `spread` times that."""

    average: Seconds = 1.0
    spread: float = 0.3

    def __post_init__(self) -> None:
        positive("average", self.average)
        positive("spread", self.spread)

    @property
    def _shape(self) -> float:
        return self.spread**-2

    def survival(self, t: FloatArray) -> FloatArray:
        """P(x > t), the regularized upper incomplete gamma function at shape·t/average."""
        from scipy.special import gammaincc

        place = self._shape * np.maximum(t, 0.0) / self.average
        return np.asarray(gammaincc(self._shape, place), dtype=np.float64)

    def quantile(self, p: FloatArray) -> FloatArray:
        """The inverse of the lower incomplete gamma function, never 0."""
        from scipy.special import gammaincinv

        seconds = np.asarray(gammaincinv(self._shape, p), dtype=np.float64) * (self.average / self._shape)
        return np.maximum(seconds, _TINY)

    def mean(self) -> Seconds:
        """The average."""
        return self.average

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws; rejection is faster than quantiles."""
        return np.maximum(self.average / self._shape * rng.gamma(self._shape, size=shape), _TINY)
