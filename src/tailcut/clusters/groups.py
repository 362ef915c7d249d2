"""Groups of workers that slow down in turn, on a fixed schedule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from tailcut.clusters import curves
from tailcut.clusters.base import Cluster, Sample, Split
from tailcut.clusters.checks import at_least, positive, require, whole
from tailcut.clusters.compound import Scaled
from tailcut.clusters.lognormal import LogNormal
from tailcut.table import Table
from tailcut.types import FloatArray, Forecast, IntArray, Seconds


def blocks(n: int, k: int) -> IntArray:
    """`(n,)` the block of each worker: `k` contiguous blocks, as even as can be, larger ones first.

    Example:
        >>> np.bincount(blocks(158, 4)).tolist()
        [40, 40, 39, 39]
    """
    sizes = [n // k + (b < n % k) for b in range(k)]
    return np.repeat(np.arange(k, dtype=np.int64), sizes)


@final
@dataclass(frozen=True, slots=True)
class GroupsInTurn(Cluster):
    """Log-normal run times; one group at a time is slow, for `period` rounds, then the next, over and over.

    Group g is slow in rounds g·period … (g + 1)·period - 1, and again every groups·period rounds. Hidden
    state: the number of the coming round (1 column).

    Attributes:
        n: workers, in contiguous blocks of even size.
        groups: number of groups.
        period: rounds for which each group is slow.
        factor: factor of a slow group's run times.
        sigma: standard deviation of the log run time.
        median: seconds of a worker that is not slow.
        overhead: seconds between a close and the next opening.
    """

    n: int = 158
    groups: int = 4
    period: int = 25
    factor: float = 2.5
    sigma: float = 0.1
    median: Seconds = 1.0
    overhead: Seconds = 0.0

    def __post_init__(self) -> None:
        whole("n", self.n, 1)
        whole("groups", self.groups, 1)
        require(
            self.groups <= self.n, f"groups must be at most n = {self.n}", self.groups, "lower it or raise n"
        )
        whole("period", self.period, 1)
        at_least("factor", self.factor, 1)
        positive("sigma", self.sigma)
        positive("median", self.median)
        at_least("overhead", self.overhead, 0)

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self.n

    def nodes(self) -> IntArray:
        """`(workers,)` the group of each worker."""
        return blocks(self.n, self.groups)

    def slow_group(self, rounds: IntArray) -> IntArray:
        """The group that is slow in each of these rounds."""
        return rounds // self.period % self.groups

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds."""
        slow = self.slow_group(np.arange(rounds))[:, None] == self.nodes()
        seconds = LogNormal(self.median, self.sigma).sample(rng, (rounds, self.n))
        table = Table.dense(np.where(slow, self.factor, 1.0) * seconds, self.nodes(), source="groups in turn")
        return Sample(table, curves.rounds_column(rounds))

    def split(self, rounds: int, slots: int, rng: np.random.Generator) -> Split:
        """Draw noise as `sample` does; the slow group changes with the slots."""
        slow = self.slow_group(np.arange(slots))[:, None] == self.nodes()
        noise = LogNormal(self.median, self.sigma).sample(rng, (rounds, self.n))
        return Split(noise, np.where(slow, self.factor, 1.0))

    def law(self, hidden: FloatArray) -> Forecast:
        """Return independent laws; the number of the round decides which group is slow."""
        return _turn(self, int(self.slow_group(hidden[:1].astype(np.int64))[0]))


@lru_cache(maxsize=64)
def _turn(cluster: GroupsInTurn, slow: int) -> Forecast:
    usual = LogNormal(cluster.median, cluster.sigma)
    slowed = Scaled(usual, cluster.factor)
    return curves.independent(tuple(slowed if group == slow else usual for group in cluster.nodes()))
