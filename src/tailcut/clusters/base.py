"""The base class of clusters, which generate run times in virtual time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from tailcut.errors import ParameterError
from tailcut.table import Table
from tailcut.timeline import Timeline, rounded_up
from tailcut.types import NO_NODE, FloatArray, Forecast, IntArray, Seconds


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Run times drawn from a cluster, with the hidden states behind them.

    Attributes:
        table: `(rounds, workers)` run times.
        hidden: `(rounds, k)` row t is the hidden state at the end of round t - 1 (k may be 0), for `Cluster.law`.
    """

    table: Table
    hidden: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Run times in two factors: the noise of each round, and the machines' state, which may follow the clock.

    Attributes:
        noise: `(rounds, workers)` seconds in the usual state, drawn afresh for each round.
        scale: `(slots, workers)` factor of the run times in each state of the path; NaN where the worker is absent.
        tick: seconds that run times are rounded up to multiples of; 0 for exact clocks.
        switches: `(slot, noise)` of other laws that hold from that slot on, by rising slots.
    """

    noise: FloatArray
    scale: FloatArray
    tick: Seconds = 0.0
    switches: tuple[tuple[int, FloatArray], ...] = ()

    def by_rounds(self, nodes: IntArray, source: str) -> Table:
        """Return the table in which round t is in state t. There must be at least as many slots as rounds."""
        seconds = self.noise * self.scale[: len(self.noise)]
        return Table.dense(rounded_up(seconds, self.tick), nodes, source)

    def by_clock(self, nodes: IntArray, source: str, overhead: Seconds) -> Timeline:
        """Return the timeline in which a step lasts the median run time in the usual state and the overhead."""
        step = float(np.median(self.noise)) + overhead
        return Timeline(self.noise, self.scale, step, nodes, source, self.tick, self.switches)


class Cluster(ABC):
    """A law of the joint run times of `workers` workers over rounds.

    Subclasses are final frozen dataclasses. All randomness comes from the generator given to `sample`.
    """

    overhead: Seconds
    """Seconds between a close and the next opening."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """The number of workers."""

    @property
    def about(self) -> str:
        """The description of this cluster in one line; empty where its name is enough."""
        return ""

    @property
    def has_law(self) -> bool:
        """Return whether the exact law is known; where it is not, `law` raises a `ParameterError`."""
        return True

    @abstractmethod
    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds of run times. The same generator state gives the same sample."""

    @abstractmethod
    def law(self, hidden: FloatArray) -> Forecast:
        """The exact law of the next run times given the hidden state `(k,)` at the end of the last round."""

    def split(self, rounds: int, slots: int, rng: np.random.Generator) -> Split:
        """Draw the noise of `rounds` rounds, and `slots` >= `rounds` steps of the path of the hidden state.

        The same generator state gives the same draw. This method serves clusters with a constant hidden
        state; other clusters override it.

        Raises:
            ParameterError: the state changes, or workers come and go, without an override of this method.
        """
        sample = self.sample(rounds, rng)
        if not sample.table.whole or not (sample.hidden == sample.hidden[:1]).all():
            raise ParameterError(
                f"{type(self).__name__} does not say how its state moves by the clock. Leave states=clock out, or "
                "define its method split()."
            )
        return Split(sample.table.seconds, np.ones((slots, self.workers)))

    def nodes(self) -> IntArray:
        """`(workers,)` the machine each worker runs on, `NO_NODE` where the cluster has no machines."""
        return np.full(self.workers, NO_NODE, dtype=np.int64)
