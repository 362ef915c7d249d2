"""What forecasters are taught round by round: the same for all of them, so that only the forecasts differ."""

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
    """One round, after it closed.

    Attributes:
        close: seconds from its opening to its close.
        shown: what the round itself showed; log scores are of these.
        reports: of work of older rounds that came in meanwhile; learnt before `shown`.
    """

    close: Seconds
    shown: RunTimes
    reports: tuple[RunTimes, ...] = ()


def closed_rounds(table: Table, closing: Policy, overhead: Seconds = 0.0) -> list[Lesson]:
    """One lesson per round of the table, from a replay in which late work is abandoned.

    Each teaches what its round showed, censored where it was cut, and the late reports that came meanwhile.

    Args:
        table: run times.
        closing: the policy that closes the rounds; it learns as it always does.
        overhead: seconds between a close and the next opening.
    """
    recorder = _Recorder(SeesAll(closing, table) if closing.sees_all else closing)
    replay(table, recorder, overhead=overhead, watch=recorder.watch)
    return recorder.lessons()


def every_row(table: Table) -> list[RunTimes]:
    """All run times of every round of a table."""
    return [_whole_row(table, row) for row in range(table.rounds)]


def whole_rounds(table: Table, closed: Sequence[Lesson]) -> list[Lesson]:
    """The same rounds with the same closes, but all run times of the table are shown."""
    return [Lesson(lesson.close, _whole_row(table, row)) for row, lesson in enumerate(closed)]


def _whole_row(table: Table, row: int) -> RunTimes:
    """All run times of a round."""
    ids = np.flatnonzero(~np.isnan(table.seconds[row]))
    return RunTimes(ids, table.seconds[row, ids], table.observed[row, ids], table.nodes[ids])


@final
class _Recorder(PolicyWrapper):
    """Keeps every round as it was shown to the policy.

    The close tells the record. What was reported late is told when the policy learns, which may be later, and after
    the last round perhaps never: nobody forecasts from it.
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
        """As the inner policy; keep the late reports."""
        self._reports[record.version] = reports
        return self.inner.learn(state, plan, record, reports)

    def lessons(self) -> list[Lesson]:
        """One per closed round."""
        return [
            Lesson(record.elapsed, record.run_times, self._reports.get(record.version, ()))
            for record in self._closed
        ]
