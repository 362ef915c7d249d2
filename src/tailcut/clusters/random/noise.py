"""Ingredients that are drawn afresh in every round: mini-batch lengths, spikes, sleepers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from tailcut.types import FloatArray, Seconds

_LEAST = 1e-12
"""Smallest probability handed to a quantile, so that no run time is 0."""


@final
@dataclass(frozen=True, slots=True)
class Content:
    """A factor that all workers of a round share, such as the length of its mini-batches; its median is near 1.

    Attributes:
        kind: "gamma" or "log-normal".
        spread: standard deviation over mean of the gamma, standard deviation of the log of the log-normal.
        memory: autocorrelation from one round to the next, 0 where rounds are independent.
    """

    kind: Literal["gamma", "log-normal"]
    spread: float
    memory: float = 0.0

    @property
    def about(self) -> str:
        """The ingredient in a few words."""
        wandering = ", autocorrelated" if self.memory > 0 else ""
        return f"{self.kind} content ± {self.spread:.0%}{wandering}"

    def factors(self, rounds: int, rng: np.random.Generator) -> FloatArray:
        """`(rounds, 1)` one factor per round."""
        z = rng.standard_normal(rounds)
        if self.memory > 0:
            fresh = math.sqrt(1 - self.memory**2)
            for t in range(1, rounds):
                z[t] = self.memory * z[t - 1] + fresh * z[t]
        if self.kind == "log-normal":
            return np.exp(self.spread * z)[:, None]
        from scipy.special import gammaincinv, ndtr

        shape = self.spread**-2
        drawn = np.asarray(gammaincinv(shape, np.clip(ndtr(z), _LEAST, 1 - _LEAST)), dtype=np.float64)
        return drawn[:, None] / shape


@final
@dataclass(frozen=True, slots=True)
class Spikes:
    """Spikes: each run time, independently, is `size` times as long with probability `p`.

    Attributes:
        p: probability for each worker and round.
        size: factor of a spike; with `alpha` the smallest factor.
        alpha: index of the Pareto tail of the factor; None where all spikes have the same size.
    """

    p: float
    size: float
    alpha: float | None = None

    @property
    def about(self) -> str:
        """The ingredient in a few words."""
        tail = "" if self.alpha is None else " and more"
        return f"{100 * self.p:.2g} % spikes × {self.size:.2g}{tail}"

    def factors(self, rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
        """`(rounds, n)` factors of the run times, 1 where there is no spike."""
        spiked = rng.random((rounds, n)) < self.p
        sizes = np.full((rounds, n), self.size)
        if self.alpha is not None:
            sizes *= 1 + rng.pareto(self.alpha, (rounds, n))
        return np.where(spiked, sizes, 1.0)


@final
@dataclass(frozen=True, slots=True)
class Sleepers:
    """Delays of exactly `count` workers, chosen at random in every round, that sleep before they compute.

    Attributes:
        count: number of workers that sleep in each round.
        seconds: seconds that each of them sleeps.
    """

    count: int
    seconds: Seconds

    @property
    def about(self) -> str:
        """The ingredient in a few words."""
        return f"{self.count} asleep for {self.seconds:.2g} s in each round"

    def delays(self, rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
        """`(rounds, n)` seconds of sleep."""
        place = rng.random((rounds, n)).argsort(axis=1)
        return np.where(place < self.count, self.seconds, 0.0)
