"""DBW: dynamic backup workers (Xu, Neglia, Sebastianelli, arXiv 2004.14696)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.order import best_cutoff
from tailcut.rules import descent, waiting
from tailcut.rules.backup import wait_for
from tailcut.rules.base import Opening, Rule
from tailcut.rules.descent import Descent
from tailcut.rules.waiting import Waits
from tailcut.types import Decision, Progress, RoundRecord


@dataclass(frozen=True, slots=True, eq=False)
class DbwMemory:
    """The arrival times of the last rounds, and the effect of their updates on the loss."""

    waits: Waits = field(default_factory=Waits)
    descent: Descent = field(default_factory=Descent)


@final
@dataclass(frozen=True, slots=True)
class Dbw(Rule[DbwMemory, int]):
    """k = argmax of G(k) / T(h, k), chosen before the round; all n if no G is positive.

    G(k) is the decrease of the loss that the descent lemma promises for k gradients at the current, fixed learning
    rate, with ‖∇F‖², V and L averaged over the last updates. T(h, k) is the expected time of the k-th gradient when the
    round before took h: a monotone least-squares fit to the last rounds. Where late work is abandoned all
    workers start anew, and T does not depend on h. The round's fixed overhead is added to T, as for every
    rule.

    It needs all run times, of cut workers too. In the first rounds, while L is not known, it waits for all;
    without gradients (run times alone) every gradient counts the same and it takes argmax of k / T(h, k). The
    plan is k.

    Attributes:
        window: rounds that T is fitted to, at least 1.
        average: updates that G's constants are averaged over, at least 1.

    Example:
        >>> from tailcut.types import Roster
        >>> rule = Dbw()
        >>> rule.plan(rule.start(), Opening(Roster.of(16), forecast=None))
        16
    """

    window: int = 20
    average: int = 5

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ParameterError(f"window must be at least 1 round, but got {self.window}; give 20, say.")
        if self.average < 1:
            raise ParameterError(f"average must be at least 1 update, but got {self.average}; give 5, say.")

    @property
    def objective_name(self) -> str:
        """The name of the decrease of the loss at a fixed learning rate."""
        return "descent"

    def start(self) -> DbwMemory:
        """Return a memory of no rounds."""
        return DbwMemory()

    def plan(self, memory: DbwMemory, opening: Opening) -> int:
        """Return the k with the largest gain per second."""
        n = len(opening.roster)
        times = waiting.expected(memory.waits, n, memory.waits.last if opening.late_finish else None)
        if times is None:
            return n
        gains = descent.gains(memory.descent, n)
        if gains is None and memory.descent.last is None:
            gains = np.arange(1.0, n + 1.0)
        if gains is None or not (gains > 0.0).any():
            return n
        return best_cutoff(gains, times, opening.overhead)

    def decide(self, plan: int, progress: Progress) -> Decision:
        """Wait for k."""
        return wait_for(plan, progress)

    def learn(self, memory: DbwMemory, plan: int, record: RoundRecord) -> DbwMemory:
        """Keep the round's times and what its gradients showed."""
        del plan
        return DbwMemory(
            waiting.after(memory.waits, record, self.window),
            descent.after(memory.descent, record.measured, self.average),
        )
