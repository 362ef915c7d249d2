"""Workers that fail in the middle of a round and come back some rounds later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.clusters import curves
from tailcut.clusters.base import Cluster, Sample, Split
from tailcut.clusters.chains import two_state
from tailcut.clusters.checks import at_least, chance, positive, probability, require, whole
from tailcut.clusters.laws import open_uniform
from tailcut.clusters.lognormal import LogNormal
from tailcut.table import Table
from tailcut.types import BoolArray, FloatArray, Forecast, Seconds


@final
@dataclass(frozen=True, slots=True)
class FailAndReturn(Cluster):
    """Independent log-normal run times; workers fail, are absent for a geometric number of rounds and return.

    In the round in which a worker fails its time is not observed: `seconds` is the moment at which the
    failure is noticed, uniform over what its run time would have been. It is then absent (NaN) for 1, 2, …
    rounds. The first `safe` workers never fail, so that many are present in every round. All are present in
    round 0.

    Hidden state: `(n,)` 1 for each worker that takes part in the coming round, returned workers included.

    Attributes:
        n: workers.
        p_fail: probability that a present worker fails in a round.
        p_return: probability, at the end of each round of absence, that it is back for the next.
        sigma: standard deviation of the log run time.
        median: median run time, seconds.
        safe: number of workers that never fail, at least 2.
        overhead: seconds between a close and the next opening.
    """

    n: int = 16
    p_fail: float = 0.01
    p_return: float = 0.05
    sigma: float = 0.2
    median: Seconds = 1.0
    safe: int = 2
    overhead: Seconds = 0.0

    def __post_init__(self) -> None:
        whole("n", self.n, 2)
        whole("safe", self.safe, 2)
        require(self.safe <= self.n, f"safe must be at most n = {self.n}", self.safe, "lower it or raise n")
        probability("p_fail", self.p_fail)
        chance("p_return", self.p_return)
        positive("sigma", self.sigma)
        positive("median", self.median)
        at_least("overhead", self.overhead, 0)

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self.n

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds."""
        present = self._presence(rounds, rng)
        seconds = LogNormal(self.median, self.sigma).sample(rng, (rounds, self.n))
        fails = present[:-1] & ~present[1:]
        seconds[fails] *= open_uniform(rng, (int(fails.sum()),))
        seconds[~present[:-1]] = np.nan
        names, nodes = tuple(range(self.n)), self.nodes()
        table = Table(seconds, present[:-1] & ~fails, names, nodes, source="fail and return")
        return Sample(table, present[:-1].astype(np.float64))

    def split(self, rounds: int, slots: int, rng: np.random.Generator) -> Split:
        """Draw noise and presence; a worker fails when the last slot before its absence ends."""
        present = self._presence(slots, rng)[:-1]
        noise = LogNormal(self.median, self.sigma).sample(rng, (rounds, self.n))
        return Split(noise, np.where(present, 1.0, np.nan))

    def law(self, hidden: FloatArray) -> Forecast:
        """Return laws of the present workers; unless safe, one never arrives with probability `p_fail`."""
        usual = curves.independent((LogNormal(self.median, self.sigma),) * self.n)
        workers = np.flatnonzero(hidden > 0.5)
        lost = np.where(workers < self.safe, 0.0, self.p_fail)[:, None]
        return Forecast.independent(workers, usual.times, lost + (1 - lost) * usual.survival[0, workers])

    def _presence(self, rounds: int, rng: np.random.Generator) -> BoolArray:
        """Draw `(rounds + 1, n)` presence by round; a worker fails in the last round before an absence."""
        mortal = np.ones(self.n - self.safe, dtype=np.bool_)
        safe = np.ones((rounds + 1, self.safe), dtype=np.bool_)
        return np.concatenate([safe, two_state(mortal, rounds, self.p_return, self.p_fail, rng)], axis=1)
