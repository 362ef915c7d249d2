"""Workers that differ from each other: for good, or for long spells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.clusters import curves
from tailcut.clusters.base import Cluster, Sample, Split
from tailcut.clusters.chains import longer, stationary_start, two_state
from tailcut.clusters.checks import at_least, chance, positive, probability, require, whole
from tailcut.clusters.laws import LEVELS
from tailcut.clusters.lognormal import LogNormal, lognormal_survival
from tailcut.table import Table
from tailcut.types import BoolArray, FloatArray, Forecast, Seconds


@final
@dataclass(frozen=True, slots=True)
class FixedLevels(Cluster):
    """Workers with fixed levels, each drawn once; run times are log-normal around the level.

    The levels belong to the cluster (`level_seed`), not to the sample. Hidden state: `(n,)` levels, seconds.

    Attributes:
        n: workers.
        spread: standard deviation of the log level, which is normal, between workers.
        sigma: standard deviation of the log run time within a worker.
        median: median of the levels, seconds.
        level_seed: seed of the levels.
        overhead: seconds between a close and the next opening.
    """

    n: int = 32
    spread: float = 0.3
    sigma: float = 0.1
    median: Seconds = 1.0
    level_seed: int = 0
    overhead: Seconds = 0.0

    def __post_init__(self) -> None:
        whole("n", self.n, 1)
        at_least("spread", self.spread, 0)
        positive("sigma", self.sigma)
        positive("median", self.median)
        whole("level_seed", self.level_seed, 0)
        at_least("overhead", self.overhead, 0)

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self.n

    def levels(self) -> FloatArray:
        """`(n,)` each worker's median, seconds."""
        z = np.random.default_rng(self.level_seed).standard_normal(self.n)
        drawn: FloatArray = self.median * np.exp(self.spread * z)
        return drawn

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds."""
        levels = self.levels()
        seconds = levels * LogNormal(1.0, self.sigma).sample(rng, (rounds, self.n))
        return Sample(Table.dense(seconds, source="fixed levels"), np.tile(levels, (rounds, 1)))

    def law(self, hidden: FloatArray) -> Forecast:
        """Return independent log-normal laws around the levels `hidden`."""
        return curves.lognormal(hidden, self.sigma, LogNormal(1.0, self.sigma).quantile(LEVELS))


@final
@dataclass(frozen=True, slots=True)
class PersistentStates(Cluster):
    """Workers that independently go through long slow spells, each spell with one factor drawn for it.

    A spell's factor is log-uniform between `low` and `high`. Hidden state: `(n,)` the factor of each worker
    at the end of the last round, 1 where it is not slow. It starts from its stationary law.

    Attributes:
        n: workers.
        slow_share: share of the workers that is slow in the long run.
        dwell: mean length of a slow spell, rounds.
        low: least factor of a slow spell.
        high: greatest factor of a slow spell.
        sigma: standard deviation of the log run time given the state.
        median: seconds of a worker that is not slow.
        overhead: seconds between a close and the next opening.
    """

    n: int = 32
    slow_share: float = 0.2
    dwell: float = 200.0
    low: float = 2.0
    high: float = 4.0
    sigma: float = 0.1
    median: Seconds = 1.0
    overhead: Seconds = 0.0

    def __post_init__(self) -> None:
        whole("n", self.n, 1)
        chance("slow_share", self.slow_share)
        at_least("dwell", self.dwell, 1)
        require(self.slow_share < 1, "slow_share must be < 1", self.slow_share, "leave somebody fast")
        probability("slow_share / (dwell * (1 - slow_share))", self.p_slow)
        at_least("low", self.low, 1)
        fits = self.low < self.high < math.inf
        require(fits, f"high must be finite and exceed low = {self.low:g}", self.high, "raise high")
        positive("sigma", self.sigma)
        positive("median", self.median)
        at_least("overhead", self.overhead, 0)

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self.n

    @property
    def p_recover(self) -> float:
        """Probability per round that a slow spell ends."""
        return 1 / self.dwell

    @property
    def p_slow(self) -> float:
        """Probability per round that a slow spell begins."""
        return self.slow_share / (self.dwell * (1 - self.slow_share))

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds."""
        slow, factors = self._drawn(rounds, rng)
        level = _levels(slow, factors)
        seconds = level[1:] * LogNormal(self.median, self.sigma).sample(rng, (rounds, self.n))
        return Sample(Table.dense(seconds, source="persistent states"), level[:-1])

    def split(self, rounds: int, slots: int, rng: np.random.Generator) -> Split:
        """Draw as `sample` does; the spells are then continued to `slots` steps."""
        slow, factors = self._drawn(rounds, rng)
        noise = LogNormal(self.median, self.sigma).sample(rng, (rounds, self.n))
        slow = longer(slow, slots, self.p_slow, self.p_recover, rng)
        factors = np.concatenate([factors, self._factors(len(slow) - len(factors), rng)])
        return Split(noise, _levels(slow, factors)[1:])

    def _drawn(self, rounds: int, rng: np.random.Generator) -> tuple[BoolArray, FloatArray]:
        start = stationary_start(self.n, self.p_slow, self.p_recover, rng)
        slow = two_state(start, rounds, self.p_slow, self.p_recover, rng)
        return slow, self._factors(rounds + 1, rng)

    def _factors(self, steps: int, rng: np.random.Generator) -> FloatArray:
        drawn: FloatArray = self.low * (self.high / self.low) ** rng.random((steps, self.n))
        return drawn

    def law(self, hidden: FloatArray) -> Forecast:
        """Return independent laws: workers keep their state, recover, or begin a spell of unknown factor."""
        slow = hidden > 1
        landmarks = self.median * curves.spread(LogNormal(1.0, self.sigma).quantile(LEVELS), 64)
        ends = np.append(curves.spread(hidden), [1.0, self.low, math.sqrt(self.low * self.high), self.high])
        times = curves.grid(np.multiply.outer(ends, landmarks).ravel())
        log_median = math.log(self.median)
        fast = lognormal_survival(times, log_median, self.sigma)
        same = lognormal_survival(times, log_median + np.log(hidden)[:, None], self.sigma)
        recovering = self.p_recover * fast + (1 - self.p_recover) * same
        falling = self.p_slow * self._spell(times) + (1 - self.p_slow) * fast
        return Forecast.independent(
            curves.everyone(self.n), times, np.where(slow[:, None], recovering, falling)
        )

    def _spell(self, times: FloatArray) -> FloatArray:
        """`(times,)` survival in the first round of a spell: normal plus uniform in the logarithm.

        With I(v) = v·Φ(v) + φ(v), an integral of Φ, and a and b the logarithms of low and high, it is
        sigma·(I((b - z)/sigma) - I((a - z)/sigma)) / (b - a).
        """
        z = np.log(times / self.median)
        a, b = math.log(self.low), math.log(self.high)
        above = _normal_integral((b - z) / self.sigma) - _normal_integral((a - z) / self.sigma)
        return np.clip(self.sigma * above / (b - a), 0.0, 1.0)


def _levels(slow: BoolArray, factors: FloatArray) -> FloatArray:
    """Return `(steps, n)` factors: that of a spell's first step for the whole spell, 1 outside spells."""
    begins = slow.copy()
    begins[1:] &= ~slow[:-1]
    # Every row looks up the row in which its spell began.
    began = np.maximum.accumulate(np.where(begins, np.arange(len(slow))[:, None], 0), axis=0)
    return np.where(slow, np.take_along_axis(factors, began, axis=0), 1.0)


def _normal_integral(v: FloatArray) -> FloatArray:
    from scipy.special import ndtr

    return v * ndtr(v) + np.exp(-0.5 * v * v) / math.sqrt(2 * math.pi)
