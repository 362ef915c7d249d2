"""A policy wrapped so that it learns all run times, as baselines in the literature assume."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, final

import numpy as np

from tailcut.policy import Decider, PolicyState, PolicyWrapper
from tailcut.table import Table
from tailcut.timeline import Timeline
from tailcut.types import RoundRecord, RunTimes


@final
class SeesAll(PolicyWrapper):
    """Replaces what a round taught by the table's whole row."""

    def __init__(self, inner: Decider, table: Table | Timeline) -> None:
        super().__init__(inner)
        self._table = table

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        """Learn from the whole row of this round; late reports add nothing."""
        del reports
        row, observed = self._table.at(record.version, record.opened)
        ids = np.flatnonzero(~np.isnan(row))
        whole = RunTimes(ids, row[ids], observed[ids], self._table.nodes[ids])
        return self.inner.learn(state, plan, replace(record, run_times=whole), ())
