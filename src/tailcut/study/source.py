"""Sources of run times for a comparison: a recorded table, or samples of a named cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

import numpy as np

from tailcut.bounds import first_in_turn
from tailcut.clusters.base import Cluster
from tailcut.errors import ParameterError
from tailcut.table import Table
from tailcut.timeline import Timeline
from tailcut.traces.limits import MAX_CELLS
from tailcut.types import FloatArray, Forecast, Seconds

PATH_STEPS = 16
"""Steps of a path by the clock for each round; later the state stays as it is. A step is about one usual round."""
SEPARATE_SEED = 2000
"""Seed of the draw that models are trained on. Comparisons and studies use 0, 1, …, and tuning 1000, 1001, …"""
MAX_PATH_CELLS = 20_000_000
"""Most cells, steps by workers, of a path: a cell takes 16 bytes, and every process has a path of its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One table to run on, with the true law behind it where there is one.

    Attributes:
        table: run times.
        overhead: seconds per round beside waiting.
        law: hidden state to the law of the next round, None for recorded tables.
        hidden: `(rounds, k)` hidden states, None for recorded tables.
        late_finish: whether late workers finish their work, as they did where this was recorded.
        timeline: run times that depend on when work begins, None where there is only a table; the table is then the one
            that waiting for all meets.
    """

    table: Table
    overhead: Seconds = 0.0
    law: Callable[[FloatArray], Forecast] | None = None
    hidden: FloatArray | None = None
    late_finish: bool = False
    timeline: Timeline | None = None

    @property
    def times(self) -> Table | Timeline:
        """The run times that are played: the timeline where states move by the clock, otherwise the table."""
        return self.table if self.timeline is None else self.timeline


class Source(ABC):
    """A named source of run times."""

    name: str
    about: str
    by_clock: bool = False
    """True if the hidden state moves by the clock: a run time then depends on when work begins."""

    @property
    @abstractmethod
    def has_law(self) -> bool:
        """Return whether the true law is known."""

    @abstractmethod
    def seeds(self, wanted: int) -> int:
        """Return the number of samples to draw when `wanted` are requested."""

    @abstractmethod
    def draw(self, seed: int, rounds: int | None) -> Draw:
        """Draw the sample of a seed, of its own length or of `rounds` rounds, as a table."""

    def separate(self, rounds: int) -> Table | None:
        """Return rounds that no comparison measures, to train a model on; None where there are none."""
        del rounds
        return None

    def size(self, rounds: int | None) -> tuple[int, int]:
        """Return the rounds and workers of a sample, without drawing it where that takes time."""
        table = self.draw(0, rounds).table
        return table.rounds, table.workers

    def draw_by_clock(self, seed: int, rounds: int | None) -> Draw:
        """Draw the sample of a seed as a timeline.

        Raises:
            ParameterError: there is none.
        """
        del seed, rounds
        raise ParameterError(f"{self.name} is a table, whose states go by rounds. Leave states=clock out.")


@lru_cache(maxsize=2)
def drawn(source: Source, seed: int, rounds: int | None) -> Draw:
    """Return the sample to play, cached for the next policy that plays it; call `drawn.cache_clear()` at the end."""
    return source.draw_by_clock(seed, rounds) if source.by_clock else source.draw(seed, rounds)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Recorded(Source):
    """A table as it was recorded: one sample, whose law is unknown.

    Attributes:
        name, about: name of the source, and its description in one line.
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
        """Return False."""
        return False

    def seeds(self, wanted: int) -> int:
        """Return 1."""
        del wanted
        return 1

    def draw(self, seed: int, rounds: int | None) -> Draw:
        """Return the table, cut to its first `rounds` rounds."""
        del seed
        table = self.table
        if rounds is not None and rounds < table.rounds:
            table = replace(table, seconds=table.seconds[:rounds], observed=table.observed[:rounds])
        return Draw(table, self.overhead, late_finish=self.late_finish)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sampled(Source):
    """A cluster, sampled anew for every seed.

    Attributes:
        name, about: name of the source, and its description in one line.
        cluster: draws run times.
        rounds: usual number of rounds.
        by_clock: whether its hidden state moves by the clock.
    """

    name: str
    about: str
    cluster: Cluster
    rounds: int
    by_clock: bool = False

    def __post_init__(self) -> None:
        if self.cluster.workers < 2:
            raise ParameterError(
                f"{self.name} must have at least 2 workers, but got {self.cluster.workers}: with one there is nobody "
                "to wait for. Give n=2 or more."
            )

    @property
    def has_law(self) -> bool:
        """Return whether the law is known; it is not where the state moves by the clock, within a round."""
        return self.cluster.has_law and not self.by_clock

    def seeds(self, wanted: int) -> int:
        """Return the number wanted."""
        return wanted

    def separate(self, rounds: int) -> Table:
        """Draw rounds with a seed that no comparison uses."""
        draw = self.draw_by_clock if self.by_clock else self.draw
        return draw(SEPARATE_SEED, rounds).table

    def size(self, rounds: int | None) -> tuple[int, int]:
        """Return the rounds asked for, or the usual number, and the workers."""
        return self._length(rounds), self.cluster.workers

    def draw(self, seed: int, rounds: int | None) -> Draw:
        """Sample `rounds` rounds, or the cluster's usual number."""
        if self.by_clock:
            raise ParameterError(
                f"The run times of {self.name} depend on when work begins, so they make no table. Leave states=clock "
                "out, or take tailcut compare."
            )
        length = self._length(rounds)
        # Infinite run times are refused with a sentence where they are used.
        with np.errstate(over="ignore"):
            sample = self.cluster.sample(length, np.random.default_rng(seed))
        table = replace(sample.table, source=self.name)
        if not self.cluster.has_law:
            return Draw(table, self.cluster.overhead)
        return Draw(table, self.cluster.overhead, self.cluster.law, sample.hidden)

    def draw_by_clock(self, seed: int, rounds: int | None) -> Draw:
        """Sample the noise of the rounds, and a path of the state that is the same for all policies."""
        length = self._length(rounds)
        slots = max(min(PATH_STEPS * length, MAX_PATH_CELLS // self.cluster.workers), length)
        with np.errstate(over="ignore"):
            split = self.cluster.split(length, slots, np.random.default_rng(seed))
        overhead = self.cluster.overhead
        timeline = split.by_clock(self.cluster.nodes(), self.name, overhead)
        waiting = first_in_turn(timeline, timeline.workers, overhead)
        return Draw(timeline.met(waiting.opened), overhead, timeline=timeline)

    def _length(self, rounds: int | None) -> int:
        length = self.rounds if rounds is None else rounds
        if length < 2:
            raise ParameterError(f"rounds must be at least 2, but got {length}. Try --rounds 500.")
        if length * self.cluster.workers > MAX_CELLS:
            raise ParameterError(
                f"{length:,} rounds of {self.cluster.workers:,} workers of {self.name} are too many: a table holds "
                f"at most {MAX_CELLS:,} cells. Take fewer."
            )
        return length
