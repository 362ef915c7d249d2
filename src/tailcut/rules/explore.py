"""Let a worker that is always cut finish now and then: run times that are never seen are never learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.rules.base import NOBODY, Opening, P, Rule, S
from tailcut.types import BoolArray, Decision, Fate, Forecast, IntArray, Progress, RoundRecord, Seconds

FORESEEN = 0.65
"""Chance of being out at the close from which on a cut counts as foreseen. Where rounds take the faster half of equal
workers, each one's chance is about one half; letting those finish would cost gradients and teach nothing."""
FEW = 10
"""Workers under which the budget is smaller: (n / FEW)² of the usual one."""
MEMORY = 100.0
"""Rounds over which the budget is averaged."""


@dataclass(frozen=True, slots=True, eq=False)
class ExploreMemory(Generic[S]):
    """The cuts of each worker. Arrays are `(n,)`, aligned with `workers`, those of the last round.

    Attributes:
        inner: the inner rule's memory.
        workers: ids, increasing.
        cuts: number of rounds in a row in which each was cut, as foreseen.
        due: number of cuts at which each finishes next.
        spent: discounted sum over rounds of the workers that were away finishing.
        allowed: largest `spent` at which another worker may finish.
    """

    inner: S
    workers: IntArray
    cuts: IntArray
    due: IntArray
    spent: float = 0.0
    allowed: float = 0.0


def carried(old: IntArray, values: IntArray, new: IntArray, fresh: int) -> IntArray:
    """Return numbers kept per worker, rearranged for another roster.

    Args:
        old: `(n,)` ids, increasing.
        values: `(n,)` a number for each id of `old`.
        new: `(m,)` ids of the other roster.
        fresh: the number for a worker that is not in `old`.

    Returns:
        `(m,)` numbers aligned with `new`.

    Example:
        >>> carried(np.array([0, 2]), np.array([5, 7]), np.array([0, 1, 2]), fresh=0).tolist()
        [5, 0, 7]
    """
    if not len(old):
        return np.full(len(new), fresh, dtype=np.int64)
    place = np.minimum(np.searchsorted(old, new), len(old) - 1)
    return np.where(old[place] == new, values[place], fresh)


def was_cut(record: RoundRecord) -> BoolArray:
    """Return `(n,)` whether each worker was still at work on this round when it closed."""
    working: BoolArray = np.isin(record.fates, (Fate.ABANDONED, Fate.PENDING)) & (record.accepted == 0)
    return working


def written_off(forecast: Forecast | None, record: RoundRecord) -> BoolArray:
    """Return `(n,)` whether each worker was expected to be out still when the round closed."""
    if forecast is None:
        return np.ones(len(record.roster), dtype=np.bool_)
    at = min(int(np.searchsorted(forecast.times, record.elapsed)), len(forecast.times) - 1)
    odds = forecast.weights[forecast.groups].T
    late: BoolArray = (odds * forecast.survival[:, :, at]).sum(axis=0) > FORESEEN
    return late


@dataclass(frozen=True, slots=True, eq=False)
class ExplorePlan(Generic[P]):
    """The plan of one round: that of the inner rule, and the forecast it was made from."""

    inner: P
    forecast: Forecast | None


@final
@dataclass(frozen=True, slots=True)
class Explore(Rule[ExploreMemory[S], ExplorePlan[P]]):
    """Let a worker finish in the background after its 3rd, 6th, 12th, 24th … cut in a row.

    A cut worker's run time is only known to exceed something. If many workers become slow and are cut in every
    round, no belief can tell when they recover. A worker that finishes while the others go on costs one gradient
    it might have given meanwhile; a round that waits for all costs all of them. Few may be out at a time;
    a worker that finds no place finishes after a later cut: those cut longest go first, then the lowest ids.

    Only cuts that the forecast foresaw count: a worker that was expected in time and had bad luck is waited for
    again in the next round anyway. Without a forecast every cut counts.

    Beside the number at once there is a budget of rounds away, and less of it with few workers: one of three that is
    away is a third of the cluster. The first one may always go.

    It changes no decision. Where late workers finish anyway there is nothing to explore.

    Attributes:
        inner: rule that decides.
        first: cuts in a row after which a worker finishes for the first time, at least 1.
        most_share: part of the workers that may be out finishing at once, over 0 and at most 1; one always may.
        budget: part of all workers' rounds that may be spent finishing, over 0; infinite for no limit.

    Example:
        >>> from tailcut.rules.backup import Backup
        >>> rule = Explore(Backup(b=2))
        >>> rule.first, rule.fixed_count(16)
        (3, None)
    """

    inner: Rule[S, P]
    first: int = 3
    most_share: float = 1 / 50
    budget: float = 1 / 50

    def __post_init__(self) -> None:
        if self.first < 1:
            raise ParameterError(f"first must be at least 1 cut, but got {self.first}; give 3, say.")
        if not 0 < self.most_share <= 1:
            raise ParameterError(
                f"most_share must be over 0 and at most 1, but got {self.most_share}; "
                "give 0.02 for one worker in fifty."
            )
        if not self.budget > 0:
            raise ParameterError(
                f"budget must be over 0, but got {self.budget}; give 0.02 for one round in fifty."
            )

    @property
    def opens_with_plan(self) -> bool:
        """Return whether the inner rule opens with its plan."""
        return self.inner.opens_with_plan

    def start(self) -> ExploreMemory[S]:
        """Return a memory in which no worker was cut."""
        return ExploreMemory(self.inner.start(), NOBODY, NOBODY, NOBODY)

    def plan(self, memory: ExploreMemory[S], opening: Opening) -> ExplorePlan[P]:
        """Plan as the inner rule does."""
        return ExplorePlan(self.inner.plan(memory.inner, opening), opening.forecast)

    def decide(self, plan: ExplorePlan[P], progress: Progress) -> Decision:
        """Decide as the inner rule does."""
        return self.inner.decide(plan.inner, progress)

    def learn(self, memory: ExploreMemory[S], plan: ExplorePlan[P], record: RoundRecord) -> ExploreMemory[S]:
        """Count the foreseen cuts; a worker that is finishing is due again after twice as many."""
        out = record.fates == Fate.PENDING
        counts = was_cut(record) & (out | written_off(plan.forecast, record))
        cuts, due = self._counted(memory, record, counts)
        while (served := out & (due <= cuts)).any():
            due = np.where(served, 2 * due, due)
        inner = self.inner.learn(memory.inner, plan.inner, record)
        away = int(np.count_nonzero(out | (record.fates == Fate.UNSTARTED)))
        n, keep = len(record.roster), 1.0 - 1.0 / MEMORY
        spent = memory.spent * keep + away
        allowed = memory.allowed * keep + n * self.budget * min(1.0, (n / FEW) ** 2)
        return ExploreMemory(inner, record.roster.workers, cuts, due, spent, allowed)

    def finishers(self, memory: ExploreMemory[S], record: RoundRecord) -> IntArray:
        """Return the inner rule's finishers, then the cut workers that are due, as far as there is room."""
        chosen = self.inner.finishers(memory.inner, record)
        workers = record.roster.workers
        cuts, due = self._counted(memory, record, was_cut(record))
        ready = was_cut(record) & (due <= cuts) & ~np.isin(workers, chosen)
        # A worker that did not even begin on this round is still busy with an older one.
        out = int(np.count_nonzero(record.fates == Fate.UNSTARTED))
        room = max(1, int(len(workers) * self.most_share + 1e-9)) - out
        if memory.spent > memory.allowed:
            room = 0
        longest = np.argsort(-cuts[ready], kind="stable")[: max(room, 0)]
        return np.concatenate([chosen, workers[ready][longest]])

    def worker_deadline(self, plan: ExplorePlan[P]) -> Seconds | None:
        """Return the inner rule's deadline."""
        return self.inner.worker_deadline(plan.inner)

    def worth_starting(self, plan: ExplorePlan[P], position: int, elapsed: Seconds) -> bool:
        """Return whether the inner rule lets the worker start."""
        return self.inner.worth_starting(plan.inner, position, elapsed)

    def welcome_stale(self, plan: ExplorePlan[P]) -> IntArray:
        """Return the workers whose stale gradients the inner rule accepts."""
        return self.inner.welcome_stale(plan.inner)

    def fixed_count(self, n: int) -> int | None:
        """Return n if the inner rule waits for all, since then no worker is cut; otherwise None."""
        return n if self.inner.fixed_count(n) == n else None

    def _counted(
        self, memory: ExploreMemory[S], record: RoundRecord, more: BoolArray
    ) -> tuple[IntArray, IntArray]:
        """Return `(n,)` cuts in a row after this round, counting `more`, and cuts at which each is due."""
        workers = record.roster.workers
        cuts = carried(memory.workers, memory.cuts, workers, 0)
        due = carried(memory.workers, memory.due, workers, self.first)
        cuts = cuts + more
        # Any arrival shows the run time, a rejected one too. A worker busy with older work keeps its count.
        seen = (record.accepted > 0) | (record.fates == Fate.USED) | (record.fates == Fate.REJECTED)
        return np.where(seen, 0, cuts), np.where(seen, self.first, due)
