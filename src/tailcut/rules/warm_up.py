"""Decide rounds without a forecast, by a deadline that the round itself sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.rules.backup import still_possible
from tailcut.rules.base import Opening, P, Rule, S
from tailcut.types import Close, Decision, IntArray, Progress, RoundRecord, Seconds, Wait


def until_twice_the_median(progress: Progress, factor: float = 2.0) -> Decision:
    """Wait for the median arrival, then until `factor` times that."""
    half = max((still_possible(progress) + 1) // 2, 1)
    if progress.count < half:
        return Wait(count=half)
    arrived = np.sort(progress.arrivals[np.isfinite(progress.arrivals)])
    # Where a worker may count more than once, fewer than half of the workers can make up half of the count.
    deadline = factor * float(arrived[min(half, len(arrived)) - 1])
    return Close() if progress.elapsed >= deadline else Wait(until=deadline)


@dataclass(frozen=True, slots=True, eq=False)
class WarmUpPlan(Generic[P]):
    """The plan of one round.

    Attributes:
        inner: the inner rule's plan.
        cold: whether there is no forecast yet, so that the inner rule is not asked.
    """

    inner: P
    cold: bool


@final
@dataclass(frozen=True, slots=True)
class WarmUp(Rule[S, WarmUpPlan[P]]):
    """Close at a multiple of the median arrival until there is a forecast, then by the inner rule.

    The median needs half of the workers and nothing else, and a deadline at twice the median cuts only what
    straggles. Rounds that wait for all, the usual way to warm up, may each last as long as the slowest
    worker there is.

    Meant for inner rules that live on a forecast. One that has none (a bandit, say) would never be asked.

    Attributes:
        inner: decides once there is a forecast. It plans and learns in every round, also before.
        factor: the deadline over the median arrival, at least 1.

    Example:
        >>> from tailcut.rules.wait_all import WaitAll
        >>> from tailcut.types import Roster
        >>> rule = WarmUp(WaitAll())
        >>> plan = rule.plan(rule.start(), Opening(Roster.of(3), forecast=None))
        >>> nobody_left = np.zeros(3, dtype=np.bool_)
        >>> rule.decide(plan, Progress(0.0, np.full(3, np.inf), nobody_left, count=0))
        Wait(count=2, until=None)
        >>> rule.decide(plan, Progress(1.5, np.array([1.0, np.inf, 1.5]), nobody_left, count=2))
        Wait(count=None, until=3.0)
    """

    inner: Rule[S, P]
    factor: float = 2.0

    def __post_init__(self) -> None:
        if not 1 <= self.factor < math.inf:
            raise ParameterError(
                f"factor must be at least 1 and finite, but got {self.factor}; "
                "give 2.0 to close at twice the median arrival."
            )

    @property
    def opens_with_plan(self) -> bool:
        """Return whether the inner rule opens with its plan."""
        return self.inner.opens_with_plan

    def start(self) -> S:
        """Return the inner rule's first memory."""
        return self.inner.start()

    def plan(self, memory: S, opening: Opening) -> WarmUpPlan[P]:
        """Plan by the inner rule, and note whether there is a forecast."""
        return WarmUpPlan(self.inner.plan(memory, opening), opening.forecast is None)

    def decide(self, plan: WarmUpPlan[P], progress: Progress) -> Decision:
        """Decide by the median's deadline without a forecast, by the inner rule with one."""
        return (
            until_twice_the_median(progress, self.factor)
            if plan.cold
            else self.inner.decide(plan.inner, progress)
        )

    def learn(self, memory: S, plan: WarmUpPlan[P], record: RoundRecord) -> S:
        """Let the inner rule learn."""
        return self.inner.learn(memory, plan.inner, record)

    def finishers(self, memory: S, record: RoundRecord) -> IntArray:
        """Return the finishers that the inner rule chooses."""
        return self.inner.finishers(memory, record)

    def worker_deadline(self, plan: WarmUpPlan[P]) -> Seconds | None:
        """Return the inner rule's deadline."""
        return self.inner.worker_deadline(plan.inner)

    def worth_starting(self, plan: WarmUpPlan[P], position: int, elapsed: Seconds) -> bool:
        """Return whether the inner rule lets the worker start."""
        return self.inner.worth_starting(plan.inner, position, elapsed)

    def welcome_stale(self, plan: WarmUpPlan[P]) -> IntArray:
        """Return the workers whose stale gradients the inner rule accepts."""
        return self.inner.welcome_stale(plan.inner)
