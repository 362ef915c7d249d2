"""The data that a table or a page on live training shows."""

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
        command: the command that trained them.
        setting: description of the task and of the added delays, in sentences.
        goal: the target of the training.
        arms: result of each arm.
    """

    command: str
    setting: str
    goal: Target
    arms: tuple[Trained, ...]

    @property
    def ddp(self) -> Trained | None:
        """The DDP arm, the reference for the others; None if it took no part."""
        return next((arm for arm in self.arms if arm.arm == DDP), None)

    @property
    def best(self) -> Trained:
        """The first arm at the goal; if no arm reached it, the one with most gradients per second."""
        return min(self.arms, key=lambda arm: (arm.to_target or float("inf"), -arm.gradients_per_second))
