"""Close after a fixed number of seconds (Anytime Minibatch, Ferdinand et al. 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from tailcut.errors import ParameterError
from tailcut.rules.base import Opening, Rule
from tailcut.types import Close, Decision, Progress, Seconds, Wait


@final
@dataclass(frozen=True, slots=True)
class Deadline(Rule[None, None]):
    """Close `seconds` after the opening, or at the first arrival after that if no worker was in.

    Example:
        >>> rule = Deadline(seconds=1.5)
    """

    seconds: Seconds

    def __post_init__(self) -> None:
        if not 0.0 < self.seconds < math.inf:
            raise ParameterError(
                f"seconds must be positive and finite, but got {self.seconds}; give 1.5, say."
            )

    def start(self) -> None:
        """Remember nothing between rounds."""

    def plan(self, memory: None, opening: Opening) -> None:
        """Plan nothing."""

    def decide(self, plan: None, progress: Progress) -> Decision:
        """Wait for the deadline, then for one gradient if there is none."""
        if progress.elapsed < self.seconds:
            return Wait(until=self.seconds)
        return Close() if progress.count else Wait(count=1)
