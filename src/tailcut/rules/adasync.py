"""AdaSync: wait for more workers as the loss falls (Dutta et al., arXiv 1803.01113)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from tailcut.errors import ParameterError
from tailcut.rules.backup import wait_for
from tailcut.rules.base import Opening, Rule
from tailcut.types import Decision, Progress, RoundRecord


@dataclass(frozen=True, slots=True)
class AdaSyncMemory:
    """The losses so far.

    Attributes:
        first: loss of the first update, None before it.
        weight: weight of all rounds together, 0 before the first and nearing 1.
        total: discounted sum of the losses, short of their mean by that weight.
    """

    first: float | None
    weight: float
    total: float


@final
@dataclass(frozen=True, slots=True)
class AdaSync(Rule[AdaSyncMemory, int]):
    """Wait for K = K₀·√(F₀/F) workers, F the mean loss of the last rounds and F₀ that of the first.

    At a fixed learning rate the error floor of K-sync falls with K while each update takes longer: few workers are
    enough at first, more as the loss nears the floor. The formula knows nothing of how long workers take. It takes the
    best possible loss to be 0; where that is higher K stays too small, and a loss of 0 or less means all n.

    Without losses (run times alone) it stays at K₀. The plan is K.

    Attributes:
        share: K₀ as a part of the n workers, over 0 and at most 1.
        memory: rounds over which the mean loss forgets, at least 1.

    Example:
        >>> from tailcut.types import Roster
        >>> rule = AdaSync(share=0.25)
        >>> rule.plan(AdaSyncMemory(first=2.0, weight=1.0, total=0.5), Opening(Roster.of(16), forecast=None))
        8
    """

    share: float = 0.25
    memory: float = 10.0

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ParameterError(
                f"share must be over 0 and at most 1, but got {self.share}; "
                "give 0.25 to begin with one in four."
            )
        if not 1 <= self.memory < math.inf:
            raise ParameterError(
                f"memory must be at least 1 round and finite, but got {self.memory}; give 10, say."
            )

    @property
    def objective_name(self) -> str:
        """The name of the decrease of the loss at a fixed learning rate."""
        return "descent"

    def start(self) -> AdaSyncMemory:
        """Return a memory of no losses."""
        return AdaSyncMemory(None, 0.0, 0.0)

    def plan(self, memory: AdaSyncMemory, opening: Opening) -> int:
        """Return K for the workers that take part."""
        n = len(opening.roster)
        if memory.first is None:
            growth = 1.0
        elif memory.total <= 0.0:
            return n
        else:
            growth = math.sqrt(max(memory.first, 0.0) / (memory.total / memory.weight))
        # At most n before rounding: the loss may be as small as numbers get.
        return max(1, round(min(self.share * n * growth, n)))

    def decide(self, plan: int, progress: Progress) -> Decision:
        """Wait for K."""
        return wait_for(plan, progress)

    def learn(self, memory: AdaSyncMemory, plan: int, record: RoundRecord) -> AdaSyncMemory:
        """Take the round's loss into the mean."""
        del plan
        if record.measured is None or not math.isfinite(record.measured.loss):
            return memory
        loss, new = record.measured.loss, 1.0 / self.memory
        first = loss if memory.first is None else memory.first
        weight = memory.weight + new * (1.0 - memory.weight)
        return AdaSyncMemory(first, weight, memory.total + new * (loss - memory.total))
