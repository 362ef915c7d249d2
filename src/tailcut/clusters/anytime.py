"""Injected delays of the literature: eager-SGD's sleeping ranks, Anytime Minibatch's delay laws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import final

import numpy as np

from tailcut.clusters import curves
from tailcut.clusters.base import Cluster, Sample
from tailcut.clusters.checks import at_least, positive, require, whole
from tailcut.clusters.compound import Mixture, Shifted, Sum
from tailcut.clusters.laws import Law, TruncatedNormal
from tailcut.clusters.lognormal import LogNormal
from tailcut.table import Table
from tailcut.types import FloatArray, Forecast, Seconds

Delays = tuple[tuple[Seconds, Seconds, float], ...]
"""Rows of (mean delay, its standard deviation, probability)."""

NIAGARA: Delays = ((0.0, 0.0, 0.4), (0.0, 0.4, 0.3), (2.0, 0.3, 0.2), (5.0, 0.3, 0.1))
"""Anytime Minibatch (Ferdinand et al., ICLR 2019)."""
CEDAR: Delays = ((0.0, 0.0, 0.4), (0.05, 0.04, 0.3), (0.15, 0.03, 0.2), (0.25, 0.03, 0.1))
"""Anytime Minibatch (Ferdinand et al., ICLR 2019)."""

_MOST_SCENARIOS = 128


def delayed(base: Law, delays: Delays) -> Mixture:
    """The law of `base` plus a delay: one row is chosen, its normal is drawn given that it is > 0."""
    return Mixture(
        tuple(_plus_delay(base, mean, sd) for mean, sd, _ in delays),
        tuple(share for _, _, share in delays),
    )


def _plus_delay(base: Law, mean: Seconds, sd: Seconds) -> Law:
    return Sum(base, TruncatedNormal(mean, sd)) if sd > 0 else Shifted(base, mean)


@final
@dataclass(frozen=True, slots=True)
class SleepingRanks(Cluster):
    """A cluster in which `sleepers` workers, chosen at random in every round, sleep before they compute.

    This is the load that eager-SGD (Li et al., PPoPP 2020) was measured under. There is no hidden state
    (0 columns).

    Attributes:
        n: workers.
        sleepers: number of workers that sleep in each round.
        sleep: seconds that each of them sleeps.
        median: median compute time, seconds.
        sigma: standard deviation of the log compute time.
        overhead: seconds between a close and the next opening.
    """

    n: int = 16
    sleepers: int = 2
    sleep: Seconds = 0.32
    median: Seconds = 0.4
    sigma: float = 0.05
    overhead: Seconds = 0.0

    def __post_init__(self) -> None:
        whole("n", self.n, 1)
        whole("sleepers", self.sleepers, 0)
        require(self.sleepers <= self.n, f"sleepers must be at most n = {self.n}", self.sleepers, "lower it")
        at_least("sleep", self.sleep, 0)
        positive("median", self.median)
        positive("sigma", self.sigma)
        at_least("overhead", self.overhead, 0)

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self.n

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds."""
        seconds = LogNormal(self.median, self.sigma).sample(rng, (rounds, self.n))
        order = rng.random((rounds, self.n)).argsort(axis=1)
        seconds[order < self.sleepers] += self.sleep
        return Sample(Table.dense(seconds, source="sleeping ranks"), np.empty((rounds, 0)))

    def law(self, hidden: FloatArray) -> Forecast:
        """Return the law, exact for at most 128 possible sets of sleepers, each a scenario of one group.

        Beyond that, workers are taken as independent, each asleep with probability sleepers/n: the marginals
        are exact, but the number of sleepers then varies.
        """
        del hidden
        return _sleeping(self)


@lru_cache(maxsize=16)
def _sleeping(cluster: SleepingRanks) -> Forecast:
    n, m = cluster.n, cluster.sleepers
    awake = LogNormal(cluster.median, cluster.sigma)
    asleep = Shifted(awake, cluster.sleep)
    if m in (0, n):
        return curves.independent((asleep if m else awake,) * n)
    if math.comb(n, m) > _MOST_SCENARIOS:
        return curves.independent((Mixture((awake, asleep), (1 - m / n, m / n)),) * n)
    times = curves.grid(np.concatenate([awake.landmarks(), asleep.landmarks()]))
    sets = np.array(list(combinations(range(n), m)))
    sleeping = np.zeros((len(sets), n), dtype=np.bool_)
    sleeping[np.arange(len(sets))[:, None], sets] = True
    survival = np.where(sleeping[:, :, None], asleep.survival(times), awake.survival(times))
    weights = np.full((1, len(sets)), 1 / len(sets))
    return curves.frozen(Forecast(curves.everyone(n), times, survival, weights, np.zeros(n, dtype=np.int64)))
