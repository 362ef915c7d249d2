"""The null case: plain synchronous SGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tailcut.rules.base import Opening, Rule
from tailcut.types import Decision, Progress, Wait


@final
@dataclass(frozen=True, slots=True)
class WaitAll(Rule[None, None]):
    """Wait for every worker that has not left.

    Every other rule is compared with this one. Where nothing straggles it is also the right one.

    Example:
        >>> rule = WaitAll()
        >>> rule.fixed_count(158)
        158
    """

    def start(self) -> None:
        """Remember nothing between rounds."""

    def plan(self, memory: None, opening: Opening) -> None:
        """Plan nothing."""

    def decide(self, plan: None, progress: Progress) -> Decision:
        """Always wait: a round closes by itself once no further arrival is possible."""
        del plan, progress
        return Wait()

    def fixed_count(self, n: int) -> int | None:
        """Return n."""
        return n
