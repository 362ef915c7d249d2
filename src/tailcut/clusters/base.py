"""What a cluster is: where run times come from in virtual time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from tailcut.table import Table
from tailcut.types import NO_NODE, FloatArray, Forecast, IntArray, Seconds


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Run times drawn from a cluster, with what drove them.

    Attributes:
        table: `(rounds, workers)` run times.
        hidden: `(rounds, k)` row t is the hidden state at the end of round t - 1 (k may be 0), for `Cluster.law`.
    """

    table: Table
    hidden: FloatArray


class Cluster(ABC):
    """A law of the joint run times of `workers` workers over rounds.

    Subclasses are final frozen dataclasses. All randomness comes from the generator given to `sample`.
    """

    overhead: Seconds
    """Seconds between a close and the next opening."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many workers it has."""

    @abstractmethod
    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds of run times. The same generator state gives the same sample."""

    @abstractmethod
    def law(self, hidden: FloatArray) -> Forecast:
        """The exact law of the next run times given the hidden state `(k,)` at the end of the last round."""

    def nodes(self) -> IntArray:
        """`(workers,)` the machine each worker runs on, `NO_NODE` where that means nothing."""
        return np.full(self.workers, NO_NODE, dtype=np.int64)
