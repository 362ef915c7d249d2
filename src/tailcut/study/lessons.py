"""Lessons for forecasters round by round: the same for all of them, so that only the forecasts differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np

from tailcut.engines.simulated import replay
from tailcut.engines.simulated.omniscient import SeesAll
from tailcut.events import CloseRound, Command, Event
from tailcut.policy import Decider, Policy, PolicyState, PolicyWrapper
from tailcut.table import Table
from tailcut.types import RoundRecord, RunTimes, Seconds

See: TypeAlias = Literal["all", "closed"]


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """The run times that one closed round shows.

    Attributes:
        close: seconds from its opening to its close.
        shown: run times of the round itself, censored where it was cut; log scores are of these.
        reports: run times of older work that arrived during the round; learned before `shown`.
    """

    close: Seconds
    shown: RunTimes
    reports: tuple[RunTimes, ...] = ()


def closed_rounds(table: Table, closing: Policy, overhead: Seconds = 0.0) -> list[Lesson]:
    """Return one lesson per round of the table, from a replay in which late work is abandoned.

    Args:
        table: run times.
        closing: the policy that closes the rounds; it learns as it always does.
        overhead: seconds between a close and the next opening.
    """
    recorder = _Recorder(SeesAll(closing, table) if closing.sees_all else closing)
    replay(table, recorder, overhead=overhead, watch=recorder.watch)
    return recorder.lessons()


def every_row(table: Table) -> list[RunTimes]:
    """Return all run times of every round of a table."""
    return [_whole_row(table, row) for row in range(table.rounds)]


def whole_rounds(table: Table, closed: Sequence[Lesson]) -> list[Lesson]:
    """Return lessons with the same closes that show all run times of the table."""
    return [Lesson(lesson.close, _whole_row(table, row)) for row, lesson in enumerate(closed)]


def _whole_row(table: Table, row: int) -> RunTimes:
    """Return all run times of a round."""
    ids = np.flatnonzero(~np.isnan(table.seconds[row]))
    return RunTimes(ids, table.seconds[row, ids], table.observed[row, ids], table.nodes[ids])


@final
class _Recorder(PolicyWrapper):
    """A policy wrapper that keeps every round as it was shown to the policy.

    The record comes with the close. Late reports come when the policy learns, which is later. After the last
    round that may never happen; no forecast needs them then.
    """

    def __init__(self, inner: Decider) -> None:
        super().__init__(inner)
        self._closed: list[RoundRecord] = []
        self._reports: dict[int, tuple[RunTimes, ...]] = {}

    def watch(self, event: Event, commands: list[Command]) -> None:
        """Keep the record of a round that closes."""
        del event
        self._closed += [command.record for command in commands if isinstance(command, CloseRound)]

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        """Keep the late reports, then learn the round by the inner policy."""
        self._reports[record.version] = reports
        return self.inner.learn(state, plan, record, reports)

    def lessons(self) -> list[Lesson]:
        """Return one lesson per closed round."""
        return [
            Lesson(record.elapsed, record.run_times, self._reports.get(record.version, ()))
            for record in self._closed
        ]
