"""A fixed cutoff: synchronous SGD with backup workers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.rules.base import Opening, Rule
from tailcut.types import Close, Decision, Progress, Wait


def still_possible(progress: Progress) -> int:
    """Return how many arrivals the round can end with: those in, and those of workers that have not left."""
    return progress.count + int(np.count_nonzero(np.isinf(progress.arrivals) & ~progress.gone))


def wait_for(target: int, progress: Progress) -> Decision:
    """Close once `target` workers are in, or as many as can still arrive if fewer; never with none."""
    goal = max(min(target, still_possible(progress)), 1)
    return Close() if progress.count >= goal else Wait(count=goal)


@final
@dataclass(frozen=True, slots=True)
class Backup(Rule[None, int]):
    """Wait for the same number of workers in every round (Chen et al. 2016, arXiv 1604.00981).

    Exactly one of the three parameters is given. The plan is the cutoff. Workers that leave during the round
    lower the cutoff once fewer than that are left.

    Attributes:
        b: backup workers: the round waits for n - b, at least 1.
        c: the cutoff itself: the round waits for c, at most n.
        share: the round waits for this part of the n workers, rounded down but at least 1; over 0, at most 1.

    Example:
        >>> Backup(b=4).fixed_count(16), Backup(c=20).fixed_count(16), Backup(share=0.9).fixed_count(16)
        (12, 16, 14)
    """

    b: int | None = None
    c: int | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("b", "c", "share") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ParameterError(
                f"Exactly one of b, c and share must be given, but got {' and '.join(given) or 'none'}; "
                "give b=4 for four backup workers, say."
            )
        if self.b is not None and self.b < 0:
            raise ParameterError(f"b must be at least 0, but got {self.b}; give 0 to wait for all.")
        if self.c is not None and self.c < 1:
            raise ParameterError(f"c must be at least 1, but got {self.c}; give 1 to take the fastest only.")
        if self.share is not None and not 0 < self.share <= 1:
            raise ParameterError(
                f"share must be over 0 and at most 1, but got {self.share}; give 0.9 to wait for nine in ten."
            )

    def start(self) -> None:
        """Remember nothing between rounds."""

    def plan(self, memory: None, opening: Opening) -> int:
        """Return the cutoff for the workers that take part."""
        del memory
        return self._target(len(opening.roster))

    def decide(self, plan: int, progress: Progress) -> Decision:
        """Wait for the cutoff."""
        return wait_for(plan, progress)

    def fixed_count(self, n: int) -> int | None:
        """Return the cutoff with n workers."""
        return self._target(n)

    def _target(self, n: int) -> int:
        if self.b is not None:
            return max(n - self.b, 1)
        if self.c is not None:
            return min(self.c, n)
        assert self.share is not None, "one of the three is given"
        # 0.07 · 100 must be 7 whatever the rounding of the product.
        return max(math.floor(self.share * n + 1e-9), 1)
