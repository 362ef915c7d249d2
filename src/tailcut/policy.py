"""A policy: how a run decides. Forecaster and rule, and the one place where their states meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from tailcut.forecast.base import Forecaster
from tailcut.rules.base import Opening, Rule
from tailcut.types import Decision, IntArray, Progress, Roster, RoundRecord, RunTimes, Seconds, Weights


@dataclass(frozen=True, slots=True, eq=False)
class PolicyState:
    """All that a policy carries from round to round. Keep a reference to keep a snapshot: it never changes."""

    belief: Any
    memory: Any


class Decider(Protocol):
    """The interface that `round.py` needs of a policy: `Policy` and its wrappers have it."""

    @property
    def opens_with_plan(self) -> bool:
        """Return whether workers cannot start before the round is planned."""

    def start(self) -> PolicyState:
        """The state before the first round."""

    def plan(self, state: PolicyState, roster: Roster, overhead: Seconds, late_finish: bool) -> Any:
        """Work out the round, as known at its opening."""

    def decide(self, plan: Any, progress: Progress) -> Decision:
        """Decide to wait or to close."""

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        """The state after a closed round and the late reports that came during it."""

    def weights(self, state: PolicyState) -> Weights:
        """Return the weight of each part of the forecast."""

    def finishers(self, state: PolicyState, record: RoundRecord) -> IntArray:
        """Cut workers that finish in the background."""

    def worker_deadline(self, plan: Any) -> Seconds | None:
        """Seconds after which each worker stops by itself."""

    def welcome_stale(self, plan: Any) -> IntArray:
        """Workers whose older gradient this round accepts."""

    def worth_starting(self, plan: Any, position: int, elapsed: Seconds) -> bool:
        """Return whether a worker that comes free in mid-round should still begin."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A forecaster and a rule. The objective that the rule maximizes is a field of the rule.

    Attributes:
        forecaster: keeps a belief about the workers.
        rule: turns forecasts into decisions.
        sees_all: whether the policy is given all run times after each round, those of cut workers too. No
            real run without `late=finish` can do so; published baselines assume it.
        micro: micro-batches per round, for rules that cut between them.

    Example:
        >>> from tailcut.forecast import NoForecast
        >>> from tailcut.rules import Backup
        >>> policy = Policy(NoForecast(), Backup(b=4))
    """

    forecaster: Forecaster[Any]
    rule: Rule[Any, Any]
    sees_all: bool = False
    micro: int = 1

    @property
    def opens_with_plan(self) -> bool:
        """Return whether workers cannot start before the rule has planned the round."""
        return self.rule.opens_with_plan

    def start(self) -> PolicyState:
        """The state before the first round."""
        return PolicyState(self.forecaster.start(), self.rule.start())

    def plan(self, state: PolicyState, roster: Roster, overhead: Seconds, late_finish: bool) -> Any:
        """Forecast the round, then let the rule work it out."""
        forecast = self.forecaster.forecast(state.belief, roster)
        return self.rule.plan(state.memory, Opening(roster, forecast, overhead, late_finish))

    def decide(self, plan: Any, progress: Progress) -> Decision:
        """Wait or close, by the rule."""
        return self.rule.decide(plan, progress)

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        """Return the state after the observations, late reports first, have updated belief and memory."""
        belief = state.belief
        for seen in (*reports, record.run_times):
            if len(seen):
                belief = self.forecaster.learn(belief, seen)
        return PolicyState(belief, self.rule.learn(state.memory, plan, record))

    def weights(self, state: PolicyState) -> Weights:
        """Return the weight that the forecaster gives to each part of the forecast."""
        return self.forecaster.weights(state.belief)

    def finishers(self, state: PolicyState, record: RoundRecord) -> IntArray:
        """Cut workers that finish in the background, by the rule."""
        return self.rule.finishers(state.memory, record)

    def worker_deadline(self, plan: Any) -> Seconds | None:
        """Seconds after which each worker stops by itself, by the rule."""
        return self.rule.worker_deadline(plan)

    def welcome_stale(self, plan: Any) -> IntArray:
        """Workers whose older gradient this round accepts, by the rule."""
        return self.rule.welcome_stale(plan)

    def worth_starting(self, plan: Any, position: int, elapsed: Seconds) -> bool:
        """Return whether, by the rule, a worker that comes free in mid-round should still begin."""
        return self.rule.worth_starting(plan, position, elapsed)


class PolicyWrapper:
    """A policy that passes every call to the policy it wraps; subclasses override what they change."""

    def __init__(self, inner: Decider) -> None:
        self.inner = inner

    @property
    def opens_with_plan(self) -> bool:
        """Return whether workers cannot start before the inner policy has planned the round."""
        return self.inner.opens_with_plan

    def start(self) -> PolicyState:
        """Return the inner policy's state before the first round."""
        return self.inner.start()

    def plan(self, state: PolicyState, roster: Roster, overhead: Seconds, late_finish: bool) -> Any:
        """Plan the round by the inner policy."""
        return self.inner.plan(state, roster, overhead, late_finish)

    def decide(self, plan: Any, progress: Progress) -> Decision:
        """Return the inner policy's decision to wait or to close."""
        return self.inner.decide(plan, progress)

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        """Return the inner policy's state after a closed round and its late reports."""
        return self.inner.learn(state, plan, record, reports)

    def weights(self, state: PolicyState) -> Weights:
        """Return the weight that the inner policy gives to each part of the forecast."""
        return self.inner.weights(state)

    def finishers(self, state: PolicyState, record: RoundRecord) -> IntArray:
        """Return the cut workers that the inner policy lets finish in the background."""
        return self.inner.finishers(state, record)

    def worker_deadline(self, plan: Any) -> Seconds | None:
        """Return the inner policy's deadline in seconds, after which each worker stops by itself."""
        return self.inner.worker_deadline(plan)

    def welcome_stale(self, plan: Any) -> IntArray:
        """Return the workers whose older gradient the inner policy accepts in this round."""
        return self.inner.welcome_stale(plan)

    def worth_starting(self, plan: Any, position: int, elapsed: Seconds) -> bool:
        """Return whether, by the inner policy, a worker that comes free in mid-round should still begin."""
        return self.inner.worth_starting(plan, position, elapsed)
