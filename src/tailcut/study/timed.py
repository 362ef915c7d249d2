"""A policy wrapper that measures the time of decisions."""

from __future__ import annotations

from time import perf_counter
from typing import Any, final

from tailcut.policy import Decider, PolicyState, PolicyWrapper
from tailcut.types import Decision, Progress, Roster, RoundRecord, RunTimes, Seconds


@final
class Timed(PolicyWrapper):
    """A policy wrapper that measures the seconds of each decision, and of all other work.

    Attributes:
        decisions: seconds of each single decision.
        total: seconds of everything: learning, forecasting, planning, deciding.
        background: the part of it that a run spends while its workers compute: learning, forecasting, planning. None
            of it where the policy must plan before workers start.
    """

    def __init__(self, inner: Decider) -> None:
        super().__init__(inner)
        self.decisions: list[Seconds] = []
        self.total: Seconds = 0.0
        self.background: Seconds = 0.0

    def plan(self, state: PolicyState, roster: Roster, overhead: Seconds, late_finish: bool) -> Any:
        """Plan the round by the inner policy, and add up the seconds."""
        began = perf_counter()
        plan = self.inner.plan(state, roster, overhead, late_finish)
        self._thought(perf_counter() - began)
        return plan

    def decide(self, plan: Any, progress: Progress) -> Decision:
        """Return the inner policy's decision, and keep its seconds."""
        began = perf_counter()
        decision = self.inner.decide(plan, progress)
        took = perf_counter() - began
        self.decisions.append(took)
        self.total += took
        return decision

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        """Learn the round by the inner policy, and add up the seconds."""
        began = perf_counter()
        after = self.inner.learn(state, plan, record, reports)
        self._thought(perf_counter() - began)
        return after

    def _thought(self, took: Seconds) -> None:
        self.total += took
        if not self.inner.opens_with_plan:
            self.background += took
