"""A lower bound on how many gradients a round takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from tailcut.errors import ParameterError
from tailcut.rules.backup import wait_for
from tailcut.rules.base import Opening, P, Rule, S
from tailcut.types import Close, Decision, IntArray, Progress, RoundRecord, Seconds


def share_of(share: float, n: int) -> int:
    """Return ⌈share · n⌉, at least 1.

    Example:
        >>> share_of(0.07, 100)
        7
    """
    # 0.07 · 100 is a little over 7 in floating point, and must not become 8.
    return max(math.ceil(share * n - 1e-9), 1)


@final
@dataclass(frozen=True, slots=True)
class Floor(Rule[S, P]):
    """Never close with fewer than `least` workers in, as long as so many have not left.

    The inner rule is asked as usual. Only a close that comes too early is put off until enough are in, and
    then it is asked again.

    Attributes:
        inner: rule that decides the rest.
        least: a whole number is a number of workers, at least 1; a float is a part of the workers of the
            round, over 0 and at most 1, rounded up.

    Example:
        >>> from tailcut.rules.backup import Backup
        >>> rule = Floor(Backup(b=6), least=0.5)
        >>> rule.fixed_count(8), rule.fixed_count(64)
        (4, 58)
    """

    inner: Rule[S, P]
    least: int | float

    def __post_init__(self) -> None:
        if isinstance(self.least, float):
            if not 0 < self.least <= 1:
                raise ParameterError(
                    f"least must be over 0 and at most 1 as a share, but got {self.least}; "
                    "give 0.5 for half of the workers, or a whole number of workers."
                )
        elif self.least < 1:
            raise ParameterError(f"least must be at least 1 worker, but got {self.least}; give 1 or more.")

    @property
    def opens_with_plan(self) -> bool:
        """Return whether the inner rule opens with its plan."""
        return self.inner.opens_with_plan

    def start(self) -> S:
        """Return the inner rule's first memory."""
        return self.inner.start()

    def plan(self, memory: S, opening: Opening) -> P:
        """Plan as the inner rule does."""
        return self.inner.plan(memory, opening)

    def decide(self, plan: P, progress: Progress) -> Decision:
        """Decide as the inner rule does, unless it closes too early."""
        decision = self.inner.decide(plan, progress)
        if isinstance(decision, Close):
            return wait_for(self._workers(len(progress.arrivals)), progress)
        return decision

    def learn(self, memory: S, plan: P, record: RoundRecord) -> S:
        """Let the inner rule learn."""
        return self.inner.learn(memory, plan, record)

    def finishers(self, memory: S, record: RoundRecord) -> IntArray:
        """Return the finishers that the inner rule chooses."""
        return self.inner.finishers(memory, record)

    def worker_deadline(self, plan: P) -> Seconds | None:
        """Return the inner rule's deadline."""
        return self.inner.worker_deadline(plan)

    def worth_starting(self, plan: P, position: int, elapsed: Seconds) -> bool:
        """Return whether the inner rule lets the worker start."""
        return self.inner.worth_starting(plan, position, elapsed)

    def welcome_stale(self, plan: P) -> IntArray:
        """Return the workers whose stale gradients the inner rule accepts."""
        return self.inner.welcome_stale(plan)

    def fixed_count(self, n: int) -> int | None:
        """Return the inner rule's cutoff, raised to the floor."""
        count = self.inner.fixed_count(n)
        return None if count is None else max(count, min(self._workers(n), n))

    def _workers(self, n: int) -> int:
        return share_of(self.least, n) if isinstance(self.least, float) else self.least
