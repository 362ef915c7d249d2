"""Clusters whose run times are independent between workers and between rounds: the null case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.clusters import curves
from tailcut.clusters.base import Cluster, Sample
from tailcut.clusters.checks import at_least, require, whole
from tailcut.clusters.laws import Law
from tailcut.table import Table
from tailcut.types import FloatArray, Forecast, Seconds


@final
@dataclass(frozen=True, slots=True)
class Iid(Cluster):
    """A cluster of `n` workers whose run times are independent draws from one law. No hidden state.

    Example:
        >>> from tailcut.clusters import Iid, LogNormal
        >>> Iid(LogNormal(1.0, 0.2), 4).sample(3, np.random.default_rng(0)).table.seconds.shape
        (3, 4)
    """

    marginal: Law
    n: int
    overhead: Seconds = 0.0

    def __post_init__(self) -> None:
        whole("n", self.n, 1)
        at_least("overhead", self.overhead, 0)

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self.n

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds."""
        seconds = self.marginal.sample(rng, (rounds, self.n))
        return Sample(Table.dense(seconds, source="iid"), np.empty((rounds, 0)))

    def law(self, hidden: FloatArray) -> Forecast:
        """Return the law, which is the same in every round; `hidden` is empty."""
        del hidden
        return curves.independent((self.marginal,) * self.n)


@final
@dataclass(frozen=True, slots=True)
class Independent(Cluster):
    """A cluster in which worker i draws run times independently from `marginals[i]`. No hidden state."""

    marginals: tuple[Law, ...]
    overhead: Seconds = 0.0

    def __post_init__(self) -> None:
        rule = "marginals must hold one law for each worker"
        require(len(self.marginals) > 0, rule, self.marginals, "give at least one")
        at_least("overhead", self.overhead, 0)

    @property
    def workers(self) -> int:
        """The number of workers."""
        return len(self.marginals)

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds."""
        seconds = np.empty((rounds, self.workers))
        for law in dict.fromkeys(self.marginals):
            mine = [i for i, other in enumerate(self.marginals) if other == law]
            seconds[:, mine] = law.sample(rng, (rounds, len(mine)))
        return Sample(Table.dense(seconds, source="independent"), np.empty((rounds, 0)))

    def law(self, hidden: FloatArray) -> Forecast:
        """Return the law, which is the same in every round; `hidden` is empty."""
        del hidden
        return curves.independent(self.marginals)
