"""A policy wrapped in a stop watch: what deciding costs."""

from __future__ import annotations

from time import perf_counter
from typing import Any, final

from tailcut.policy import Decider, PolicyState
from tailcut.types import Decision, IntArray, Progress, Roster, RoundRecord, RunTimes, Seconds


@final
class Timed:
    """Passes everything on and keeps how long each decision, and all else, took.

    Attributes:
        decisions: seconds of each single decision.
        total: seconds of everything: learning, forecasting, planning, deciding.
    """

    def __init__(self, inner: Decider) -> None:
        self._inner = inner
        self.decisions: list[Seconds] = []
        self.total: Seconds = 0.0

    def start(self) -> PolicyState:
        """As the inner policy."""
        return self._inner.start()

    def plan(self, state: PolicyState, roster: Roster, overhead: Seconds, late_finish: bool) -> Any:
        """As the inner policy, timed."""
        began = perf_counter()
        plan = self._inner.plan(state, roster, overhead, late_finish)
        self.total += perf_counter() - began
        return plan

    def decide(self, plan: Any, progress: Progress) -> Decision:
        """As the inner policy, timed one by one."""
        began = perf_counter()
        decision = self._inner.decide(plan, progress)
        took = perf_counter() - began
        self.decisions.append(took)
        self.total += took
        return decision

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        """As the inner policy, timed."""
        began = perf_counter()
        after = self._inner.learn(state, plan, record, reports)
        self.total += perf_counter() - began
        return after

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
