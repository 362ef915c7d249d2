"""Where a comparison takes its run times from: a recorded table, or samples of a named cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from tailcut.clusters.base import Cluster
from tailcut.errors import ParameterError
from tailcut.table import Table
from tailcut.traces.limits import MAX_CELLS
from tailcut.types import FloatArray, Forecast, Seconds


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One table to run on, with the true law behind it where there is one.

    Attributes:
        table: run times.
        overhead: seconds per round beside waiting.
        law: hidden state to the law of the next round, None for recorded tables.
        hidden: `(rounds, k)` hidden states, None for recorded tables.
        late_finish: whether late workers finish their work, as they did where this was recorded.
    """

    table: Table
    overhead: Seconds = 0.0
    law: Callable[[FloatArray], Forecast] | None = None
    hidden: FloatArray | None = None
    late_finish: bool = False


class Source(ABC):
    """A named place run times come from."""

    name: str
    about: str

    @property
    @abstractmethod
    def has_law(self) -> bool:
        """Whether the true law is known."""

    @abstractmethod
    def seeds(self, wanted: int) -> int:
        """How many samples to draw when `wanted` are asked for."""

    @abstractmethod
    def draw(self, seed: int, rounds: int | None) -> Draw:
        """The sample of a seed, of its own length or of `rounds` rounds."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Recorded(Source):
    """A table as it was recorded: one sample, nothing known of its law.

    Attributes:
        name, about: as of every source.
        table: run times.
        overhead: seconds per round beside waiting.
        late_finish: whether late workers finished their work.
    """

    name: str
    about: str
    table: Table
    overhead: Seconds = 0.0
    late_finish: bool = False

    @property
    def has_law(self) -> bool:
        """Never."""
        return False

    def seeds(self, wanted: int) -> int:
        """One."""
        del wanted
        return 1

    def draw(self, seed: int, rounds: int | None) -> Draw:
        """The table, cut to its first `rounds` rounds."""
        del seed
        table = self.table
        if rounds is not None and rounds < table.rounds:
            table = replace(table, seconds=table.seconds[:rounds], observed=table.observed[:rounds])
        return Draw(table, self.overhead, late_finish=self.late_finish)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sampled(Source):
    """A cluster, sampled anew for every seed."""

    name: str
    about: str
    cluster: Cluster
    rounds: int

    def __post_init__(self) -> None:
        if self.cluster.workers < 2:
            raise ParameterError(
                f"{self.name} must have at least 2 workers, but got {self.cluster.workers}: with one there is nobody "
                "to wait for. Give n=2 or more."
            )

    @property
    def has_law(self) -> bool:
        """Always."""
        return True

    def seeds(self, wanted: int) -> int:
        """As many as wanted."""
        return wanted

    def draw(self, seed: int, rounds: int | None) -> Draw:
        """Sample `rounds` rounds, or the cluster's usual number."""
        length = self.rounds if rounds is None else rounds
        if length < 2:
            raise ParameterError(f"rounds must be at least 2, but got {length}. Try --rounds 500.")
        if length * self.cluster.workers > MAX_CELLS:
            raise ParameterError(
                f"{length:,} rounds of {self.cluster.workers:,} workers of {self.name} are too many: a table holds "
                f"at most {MAX_CELLS:,} cells. Take fewer."
            )
        # Run times beyond all numbers are refused in a sentence by whoever uses them.
        with np.errstate(over="ignore"):
            sample = self.cluster.sample(length, np.random.default_rng(seed))
        table = replace(sample.table, source=self.name)
        return Draw(table, self.cluster.overhead, self.cluster.law, sample.hidden)
