"""What a table or page on live training shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from tailcut.engines.live.train.job import DDP
from tailcut.engines.live.train.summary import Trained

if TYPE_CHECKING:  # Its module needs torch, which tables do not.
    from tailcut.learning.tasks.base import Target


@final
@dataclass(frozen=True, slots=True)
class Training:
    """Arms that trained the same task with the same data and delays.

    Attributes:
        command: that trained them.
        setting: what was trained, and what was put in their way: a sentence.
        goal: when they have got where they should.
        arms: what came of each.
    """

    command: str
    setting: str
    goal: Target
    arms: tuple[Trained, ...]

    @property
    def ddp(self) -> Trained | None:
        """The arm that others are measured by, if it took part."""
        return next((arm for arm in self.arms if arm.arm == DDP), None)

    @property
    def best(self) -> Trained:
        """The soonest at the goal; where nobody got there, the one with most gradients per second."""
        return min(self.arms, key=lambda arm: (arm.to_target or float("inf"), -arm.gradients_per_second))
