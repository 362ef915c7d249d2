"""Plan each round of a rule with an objective by the gradient noise scale measured so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, cast, final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.noise import Noise, after
from tailcut.objective import Count, Gain, Objective
from tailcut.rules.base import Opening, P, Rule, S
from tailcut.types import Decision, IntArray, Progress, RoundRecord, Seconds

STALE = 8
"""Rounds without a noise estimate after which one is decided with a larger noise scale, to get one."""


@dataclass(frozen=True, slots=True, eq=False)
class ValuedMemory(Generic[S]):
    """The inner rule's memory, and what is known of the gradients.

    Attributes:
        inner: the inner rule's memory.
        noise: estimates of the gradient noise from earlier rounds.
        batch: samples in one worker's mini-batch, 0 before the first update.
        silent: rounds since gradients last gave an estimate of their noise.
    """

    inner: S
    noise: Noise
    batch: float
    silent: int


@dataclass(frozen=True, slots=True, eq=False)
class ValuedPlan(Generic[S, P]):
    """The plan of one round: the inner rule's plan, the objective, and the inner rule with that objective."""

    inner: P
    objective: Objective
    rule: Rule[S, P]


@final
@dataclass(frozen=True, slots=True)
class Valued(Rule[ValuedMemory[S], ValuedPlan[S, P]], Generic[S, P]):
    """Run the inner rule with the expected decrease of the loss (`Gain`) as objective, instead of throughput.

    B and the mini-batch come from earlier rounds only, so that whose gradients are taken does not depend on what they
    are. Until B is known, and where no gradient can be told from the noise, every gradient is worth the same. One
    gradient alone does not tell how noisy it is, and rounds of one would never notice that B grows: after every few of
    them a round is decided as if B were one mini-batch, then two, and so on, until there is an estimate.

    Attributes:
        inner: a rule with an objective, `Stopping` or `Ahead`; its own is not used.

    Example:
        >>> from tailcut.rules.ahead import Ahead
        >>> rule = Valued(Ahead())
        >>> rule.worth(rule.start())
        Count()
    """

    inner: Rule[S, P]

    def __post_init__(self) -> None:
        if not isinstance(getattr(self.inner, "objective", None), Objective):
            raise ParameterError(
                f"The inner rule must have an objective, but got {self.inner!r}. Give Stopping() or Ahead()."
            )

    @property
    def objective_name(self) -> str:
        """The name of the expected decrease of the loss."""
        return "gain"

    @property
    def opens_with_plan(self) -> bool:
        """Return whether the inner rule opens with its plan."""
        return self.inner.opens_with_plan

    def start(self) -> ValuedMemory[S]:
        """Return a memory of no gradients."""
        return ValuedMemory(self.inner.start(), Noise(), 0.0, 0)

    def worth(self, memory: ValuedMemory[S]) -> Objective:
        """Return the objective that values gradients by what is known so far."""
        scale = memory.noise.scale
        if scale is None or not memory.batch:
            return Count()
        tries, since = divmod(memory.silent, STALE)
        return Gain(scale if since else max(scale, tries * memory.batch), memory.batch)

    def plan(self, memory: ValuedMemory[S], opening: Opening) -> ValuedPlan[S, P]:
        """Plan with the objective of this round."""
        objective = self.worth(memory)
        rule = cast("Rule[S, P]", replace(cast(Any, self.inner), objective=objective))
        return ValuedPlan(rule.plan(memory.inner, opening), objective, rule)

    def decide(self, plan: ValuedPlan[S, P], progress: Progress) -> Decision:
        """Decide by the inner rule with this round's objective."""
        return plan.rule.decide(plan.inner, progress)

    def learn(self, memory: ValuedMemory[S], plan: ValuedPlan[S, P], record: RoundRecord) -> ValuedMemory[S]:
        """Let the inner rule learn the round's value, then update the noise estimate."""
        inner = plan.rule.learn(memory.inner, plan.inner, _in_worth(record, plan.objective))
        measured, noise = record.measured, after(memory.noise, record.measured)
        batch = memory.batch if measured is None else max(float(measured.batch), 0.0)
        silent = memory.silent + 1 if noise is memory.noise else 0
        return ValuedMemory(inner, noise, batch, silent)

    def finishers(self, memory: ValuedMemory[S], record: RoundRecord) -> IntArray:
        """Return the finishers that the inner rule chooses."""
        return self.inner.finishers(memory.inner, record)

    def worker_deadline(self, plan: ValuedPlan[S, P]) -> Seconds | None:
        """Return the inner rule's deadline."""
        return plan.rule.worker_deadline(plan.inner)

    def worth_starting(self, plan: ValuedPlan[S, P], position: int, elapsed: Seconds) -> bool:
        """Return whether the inner rule lets the worker start."""
        return plan.rule.worth_starting(plan.inner, position, elapsed)

    def welcome_stale(self, plan: ValuedPlan[S, P]) -> IntArray:
        """Return the workers whose stale gradients the inner rule accepts."""
        return plan.rule.welcome_stale(plan.inner)


def _in_worth(record: RoundRecord, objective: Objective) -> RoundRecord:
    """Return the round with its value by the objective: rules compare settings by value per second."""
    value = record.value
    if not value > 0:
        return record
    worth = float(objective.value(np.array([value]))[0])
    return replace(record, shares=record.shares * (worth / value))
