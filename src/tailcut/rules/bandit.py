"""No forecast at all: try cutoffs, keep the one with the best measured throughput."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.rules.backup import wait_for
from tailcut.rules.base import Opening, Rule
from tailcut.types import Decision, FloatArray, IntArray, Progress, RoundRecord

_FORGOTTEN = 1e-9
"""Discounted rounds below which an arm counts as never tried."""


@dataclass(frozen=True, slots=True, eq=False)
class BanditMemory:
    """The results of past rounds, recent ones weighted most. Arrays are `(arms,)`, all sums discounted.

    Attributes:
        n: number of workers for which the arms were laid out, 0 before the first round.
        pulls: number of rounds in which each arm was used.
        values: number of gradients that these rounds took.
        seconds: length of these rounds in seconds, overhead included.
    """

    n: int
    pulls: FloatArray
    values: FloatArray
    seconds: FloatArray


@dataclass(frozen=True, slots=True)
class BanditPlan:
    """The choice for one round: the number of workers it was made for, the arm, and the arm's cutoff."""

    n: int
    arm: int
    cutoff: int


@lru_cache(maxsize=256)
def cutoffs(n: int, arms: int = 12) -> IntArray:
    """Return the cutoffs that are tried: n first, then down to n/3 in growing steps.

    Few cutoffs near n matter more than many: each worker fewer changes most what the last one cost.

    Args:
        n: number of workers, at least 1.
        arms: largest number of cutoffs, at least 2.

    Returns:
        `(<= arms,)` decreasing, read-only because it is shared between callers.

    Example:
        >>> cutoffs(32).tolist()
        [32, 31, 30, 29, 27, 26, 24, 21, 17, 11]
    """
    most = n - math.ceil(n / 3)
    offsets = np.rint(np.geomspace(1, max(most, 1), arms - 1)).astype(np.int64)
    tried = n - np.unique(np.append(offsets[offsets <= most], 0))
    tried.flags.writeable = False
    return tried


@final
@dataclass(frozen=True, slots=True)
class Bandit(Rule[BanditMemory, BanditPlan]):
    """A non-stationary bandit over a dozen cutoffs, rewarded with measured gradients per second.

    Discounted UCB (Garivier and Moulines 2011, arXiv 0805.3415) with two changes. An arm's throughput is its
    discounted sum of gradients over its discounted sum of seconds: that is what a run ends up with, while the
    mean of single rounds' rates would favor cutoffs whose rounds are now and then very short. And the bonus
    is relative to the best arm's throughput, so that no unit of time matters. There is no randomness; equal
    arms are taken in the order of `cutoffs`. When workers join or leave, each new arm inherits from the old
    one with the nearest share of the workers.

    Attributes:
        discount: weight of a round relative to the one after it, over 0 and at most 1.
        explore: how much an arm's bonus weighs, over 0.
        arms: largest number of cutoffs that are tried, at least 2.

    Example:
        >>> from tailcut.types import Roster
        >>> rule = Bandit()
        >>> rule.plan(rule.start(), Opening(Roster.of(32), forecast=None)).cutoff
        32
    """

    discount: float = 0.99
    explore: float = 0.05
    arms: int = 12

    def __post_init__(self) -> None:
        if not 0 < self.discount <= 1:
            raise ParameterError(
                f"discount must be over 0 and at most 1, but got {self.discount}; "
                "give 0.99 to look back over some hundred rounds."
            )
        if not 0 < self.explore < math.inf:
            raise ParameterError(
                f"explore must be over 0 and finite, but got {self.explore}; give 0.05, say."
            )
        if self.arms < 2:
            raise ParameterError(f"arms must be at least 2, but got {self.arms}; give 12, say.")

    def start(self) -> BanditMemory:
        """Return a memory in which no cutoff was tried."""
        nothing = np.zeros(0)
        return BanditMemory(0, nothing, nothing, nothing)

    def plan(self, memory: BanditMemory, opening: Opening) -> BanditPlan:
        """Choose the arm with the highest upper bound; those never tried come first."""
        n = len(opening.roster)
        memory = self._laid_out(memory, n)
        untried = memory.pulls < _FORGOTTEN
        arm = int(np.argmax(untried if untried.any() else self._bounds(memory)))
        return BanditPlan(n, arm, int(cutoffs(n, self.arms)[arm]))

    def decide(self, plan: BanditPlan, progress: Progress) -> Decision:
        """Wait for the chosen cutoff."""
        return wait_for(plan.cutoff, progress)

    def learn(self, memory: BanditMemory, plan: BanditPlan, record: RoundRecord) -> BanditMemory:
        """Discount what is known and add the round to its arm."""
        seconds = record.elapsed + record.overhead
        if not seconds > 0:
            # A round that took no time has no throughput to speak of.
            return memory
        memory = self._laid_out(memory, plan.n)
        pulled = np.zeros(len(memory.pulls))
        pulled[plan.arm] = 1.0
        return BanditMemory(
            plan.n,
            self.discount * memory.pulls + pulled,
            self.discount * memory.values + record.value * pulled,
            self.discount * memory.seconds + seconds * pulled,
        )

    def _bounds(self, memory: BanditMemory) -> FloatArray:
        """Return `(arms,)` the gradients per second that each arm may plausibly reach."""
        rates = memory.values / memory.seconds
        doubt = np.sqrt(math.log(max(float(memory.pulls.sum()), 1.0)) / memory.pulls)
        bounds: FloatArray = rates + self.explore * rates.max() * doubt
        return bounds

    def _laid_out(self, memory: BanditMemory, n: int) -> BanditMemory:
        """Return the memory with its arms laid out for n workers."""
        if memory.n == n:
            return memory
        tried = cutoffs(n, self.arms)
        if memory.n == 0:
            nothing = np.zeros(len(tried))
            return BanditMemory(n, nothing, nothing, nothing)
        gaps = np.abs(tried[:, None] / n - cutoffs(memory.n, self.arms) / memory.n)
        heir = np.argmin(gaps, axis=1)
        # The same share of more workers is so many more gradients.
        values = memory.values[heir] * (n / memory.n)
        return BanditMemory(n, memory.pulls[heir], values, memory.seconds[heir])
