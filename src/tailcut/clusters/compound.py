"""Laws made of other laws: shifted, scaled, mixed, added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.clusters.checks import at_least, positive, require
from tailcut.clusters.laws import Law
from tailcut.types import FloatArray, Seconds

_NODES = 256
"""Equally likely values that stand for the first law of a sum."""


@final
@dataclass(frozen=True, slots=True)
class Shifted(Law):
    """`law` plus `by` seconds."""

    law: Law
    by: Seconds

    def __post_init__(self) -> None:
        at_least("by", self.by, 0)

    def survival(self, t: FloatArray) -> FloatArray:
        """P(x > t - by)."""
        return self.law.survival(t - self.by)

    def quantile(self, p: FloatArray) -> FloatArray:
        """The quantile of the law, plus `by`."""
        return self.law.quantile(p) + self.by

    def mean(self) -> Seconds:
        """The mean of the law, plus `by`."""
        return self.law.mean() + self.by

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws."""
        return self.law.sample(rng, shape) + self.by

    def landmarks(self) -> FloatArray:
        """The landmarks of the law, plus `by`."""
        return self.law.landmarks() + self.by


@final
@dataclass(frozen=True, slots=True)
class Scaled(Law):
    """`law` times `factor`."""

    law: Law
    factor: float

    def __post_init__(self) -> None:
        positive("factor", self.factor)

    def survival(self, t: FloatArray) -> FloatArray:
        """P(x > t / factor)."""
        return self.law.survival(t / self.factor)

    def quantile(self, p: FloatArray) -> FloatArray:
        """The quantile of the law, times the factor."""
        return self.law.quantile(p) * self.factor

    def mean(self) -> Seconds:
        """The mean of the law, times the factor."""
        return self.law.mean() * self.factor

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws."""
        return self.law.sample(rng, shape) * self.factor

    def landmarks(self) -> FloatArray:
        """The landmarks of the law, times the factor."""
        return self.law.landmarks() * self.factor


@final
@dataclass(frozen=True, slots=True)
class Mixture(Law):
    """One of `laws`, chosen anew for each draw with these `probabilities`."""

    laws: tuple[Law, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        p = self.probabilities
        rule = f"A mixture of {len(self.laws)} laws needs as many probabilities > 0 that sum to 1"
        fits = len(p) == len(self.laws) > 0 and min(p, default=0) > 0 and abs(sum(p) - 1) < 1e-9
        require(fits, rule, p, "give each law its share")

    def survival(self, t: FloatArray) -> FloatArray:
        """The average of the survival functions, weighted by the probabilities."""
        total = np.zeros(np.shape(t))
        for p, law in zip(self.probabilities, self.laws, strict=True):
            total += p * law.survival(t)
        return total

    def quantile(self, p: FloatArray) -> FloatArray:
        """Find the quantiles by bisection between the smallest and the largest quantile of the parts."""
        each = np.stack([law.quantile(p) for law in self.laws])
        return _invert(self.survival, p, each.min(axis=0), each.max(axis=0))

    def mean(self) -> Seconds:
        """The average of the means."""
        return sum(p * law.mean() for p, law in zip(self.probabilities, self.laws, strict=True))

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws: first the part, then its law."""
        which = np.searchsorted(np.cumsum(self.probabilities)[:-1], rng.random(shape), side="right")
        drawn = np.empty(shape)
        for k, law in enumerate(self.laws):
            here = which == k
            drawn[here] = law.sample(rng, (int(here.sum()),))
        return drawn

    def landmarks(self) -> FloatArray:
        """The landmarks of every part, so that a rare part is resolved as well as a frequent one."""
        return np.concatenate([law.landmarks() for law in self.laws])


@final
@dataclass(frozen=True, slots=True)
class Sum(Law):
    """`first` plus an independent `second`.

    The survival function averages that of `second` over 256 equally likely values of `first`. As it is
    monotone the error is at most 1/512 whatever the laws, and far less where `second` has a density; a
    constant is better added with `Shifted`, which is exact.
    """

    first: Law
    second: Law

    def survival(self, t: FloatArray) -> FloatArray:
        """P(first + second > t), averaged over `first`."""
        values = self.first.quantile((np.arange(_NODES) + 0.5) / _NODES)
        averaged: FloatArray = self.second.survival(np.asarray(t)[..., None] - values).mean(axis=-1)
        return averaged

    def quantile(self, p: FloatArray) -> FloatArray:
        """Find the quantiles by bisection."""
        # One of two terms is below its p/2 quantile with probability at most p, and likewise above.
        low = self.first.quantile(p / 2) + self.second.quantile(p / 2)
        high = self.first.quantile((1 + p) / 2) + self.second.quantile((1 + p) / 2)
        return _invert(self.survival, p, low, high)

    def mean(self) -> Seconds:
        """The sum of the means."""
        return self.first.mean() + self.second.mean()

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws."""
        return self.first.sample(rng, shape) + self.second.sample(rng, shape)

    def landmarks(self) -> FloatArray:
        """Sums of the landmarks of both."""
        first, second = np.sort(self.first.landmarks()), np.sort(self.second.landmarks())
        return np.add.outer(_thin(first), _thin(second)).ravel()


def _thin(values: FloatArray, size: int = 17) -> FloatArray:
    kept: FloatArray = values[np.linspace(0, len(values) - 1, size).astype(np.int64)]
    return kept


def _invert(
    survival: Callable[[FloatArray], FloatArray], p: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Quantiles by bisection between `low` and `high`, to the last bits of a double."""
    for _ in range(60):
        middle = (low + high) / 2
        above = 1 - survival(middle) >= p
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return high
