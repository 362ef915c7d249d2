"""A policy wrapped so that it learns all run times, as baselines in the literature assume."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, final

import numpy as np

from tailcut.policy import Decider, PolicyState
from tailcut.table import Table
from tailcut.types import Decision, IntArray, Progress, Roster, RoundRecord, RunTimes, Seconds


@final
class SeesAll:
    """Passes everything on, but replaces what a round taught by the table's whole row."""

    def __init__(self, inner: Decider, table: Table) -> None:
        self._inner = inner
        self._table = table

    def start(self) -> PolicyState:
        """As the inner policy."""
        return self._inner.start()

    def plan(self, state: PolicyState, roster: Roster, overhead: Seconds, late_finish: bool) -> Any:
        """As the inner policy."""
        return self._inner.plan(state, roster, overhead, late_finish)

    def decide(self, plan: Any, progress: Progress) -> Decision:
        """As the inner policy."""
        return self._inner.decide(plan, progress)

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        """Learn from the whole row of this round; late reports say nothing new."""
        del reports
        row = self._table.seconds[record.version]
        ids = np.flatnonzero(~np.isnan(row))
        whole = RunTimes(ids, row[ids], self._table.observed[record.version, ids], self._table.nodes[ids])
        return self._inner.learn(state, plan, replace(record, run_times=whole), ())

    def finishers(self, state: PolicyState, record: RoundRecord) -> IntArray:
        """As the inner policy."""
        return self._inner.finishers(state, record)

    def worker_deadline(self, plan: Any) -> Seconds | None:
        """As the inner policy."""
        return self._inner.worker_deadline(plan)

    def welcome_stale(self, plan: Any) -> IntArray:
        """As the inner policy."""
        return self._inner.welcome_stale(plan)

    def worth_starting(self, plan: Any, position: int, elapsed: Seconds) -> bool:
        """As the inner policy."""
        return self._inner.worth_starting(plan, position, elapsed)
