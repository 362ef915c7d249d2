"""Deferred work of a policy: learning a round and planning the next one wait until they are needed.

A close and an opening hold up every worker, so neither waits for the policy to learn, to forecast or to plan.
Deferred work is kept with all its inputs, so that the result does not depend on when it is computed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, final

from tailcut.policy import Decider, PolicyState
from tailcut.types import (
    Decision,
    IntArray,
    Measured,
    Progress,
    Roster,
    RoundRecord,
    RunTimes,
    Seconds,
    Weights,
    WorkerId,
)


@final
class Thinker:
    """A policy, its state and its plan for the open round; both brought up to date when they are asked for."""

    def __init__(self, policy: Decider) -> None:
        self.policy = policy
        self._state = policy.start()
        self._lesson: tuple[Any, RoundRecord, tuple[RunTimes, ...]] | None = None
        self._plan: Any = None
        self._unplanned: tuple[Roster, Seconds, bool] | None = None

    @property
    def state(self) -> PolicyState:
        """The state after every closed round; the last one is learned now if it was not learned before."""
        if self._lesson is not None:
            self._state, self._lesson = self.policy.learn(self._state, *self._lesson), None
        return self._state

    @state.setter
    def state(self, state: PolicyState) -> None:
        self._state, self._lesson = state, None

    @property
    def plan(self) -> Any:
        """The plan of the round opened last; made now if it was not made yet."""
        if self._unplanned is not None:
            self._plan, self._unplanned = self.policy.plan(self.state, *self._unplanned), None
        return self._plan

    def open(
        self, roster: Roster, overhead: Seconds, late_finish: bool
    ) -> tuple[Seconds | None, frozenset[WorkerId]]:
        """Open a round: return the deadline of workers in seconds, and those whose old gradients are welcome.

        Only a policy that `opens_with_plan` has to plan the round for that.
        """
        self._unplanned = (roster, overhead, late_finish)
        if not self.policy.opens_with_plan:
            return None, frozenset()
        welcome = self.policy.welcome_stale(self.plan)
        return self.policy.worker_deadline(self.plan), frozenset(welcome.tolist())

    def decide(self, progress: Progress) -> Decision:
        """Return the policy's decision to wait or to close."""
        return self.policy.decide(self.plan, progress)

    def worth_starting(self, position: int, elapsed: Seconds) -> bool:
        """Return whether a worker that comes free in mid-round should still begin."""
        return self.policy.worth_starting(self.plan, position, elapsed)

    def finishers(self, record: RoundRecord) -> IntArray:
        """Return the cut workers that finish in the background; call it before `closed`."""
        return self.policy.finishers(self.state, record)

    def weights(self) -> Weights:
        """Return the weight of each part of the open round's forecast."""
        return self.policy.weights(self.state)

    def closed(self, record: RoundRecord, reports: tuple[RunTimes, ...]) -> None:
        """Keep a closed round, with the late reports that came during it, to be learned later."""
        plan = self.plan
        assert self._lesson is None, "the round before was learnt when this one was planned"
        self._lesson = (plan, record, reports)

    def measured(self, measured: Measured) -> None:
        """Add measurements of its gradients to the last closed round, unless it has been learned already."""
        if self._lesson is not None:
            plan, record, reports = self._lesson
            self._lesson = (plan, replace(record, measured=measured), reports)
