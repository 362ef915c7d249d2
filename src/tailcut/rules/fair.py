"""A bound on how long a worker may go without an accepted gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.rules.base import NOBODY, Opening, P, Rule, S
from tailcut.rules.explore import carried, was_cut
from tailcut.types import BoolArray, Close, Decision, Fate, IntArray, Progress, RoundRecord, Seconds, Wait


@dataclass(frozen=True, slots=True, eq=False)
class FairMemory(Generic[S]):
    """Rounds without an accepted gradient. Arrays are `(n,)`, aligned with the last round's `workers`.

    Attributes:
        inner: the inner rule's memory.
        workers: ids, increasing.
        without: number of rounds in a row in which each had no gradient accepted.
    """

    inner: S
    workers: IntArray
    without: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class FairPlan(Generic[P]):
    """The plan of one round.

    Attributes:
        inner: the inner rule's plan.
        served: `(n,)` whether the round waits for each worker of the roster.
        welcome: ids of workers whose older gradient is accepted.
    """

    inner: P
    served: BoolArray
    welcome: IntArray


@final
@dataclass(frozen=True, slots=True)
class Fair(Rule[FairMemory[S], FairPlan[P]], Generic[S, P]):
    """Bound how many rounds in a row a live worker may go without an accepted gradient.

    A cutoff that always drops the same workers never sees their data. There are two remedies.

    `"wait"`: once some worker has gone `most_rounds` rounds without, the round does not close before it is in,
    nor before all those that have gone at least half as long; no worker then goes longer than `most_rounds`.
    They are served together because such a round lasts as long as its slowest worker, however many it waits
    for: serving each when its own time comes would make many rounds slow instead of one, and costs more.

    `"stale"`: no round waits. A worker cut after `most_rounds` rounds without finishes in the background, and its
    older gradient is accepted when it comes: it goes without for `most_rounds` and as long as that takes.

    Only workers that are there are counted: one that leaves is waited for no longer, and one that joins starts
    at 0. A gradient that arrives but is rejected counts as accepted here, since no waiting could mend it.

    Attributes:
        inner: rule that decides the rest.
        most_rounds: the bound, at least 1.
        how: `"wait"` or `"stale"`.

    Example:
        >>> from tailcut.rules.backup import Backup
        >>> from tailcut.types import Roster
        >>> rule = Fair(Backup(c=2), most_rounds=10)
        >>> memory = FairMemory(None, np.arange(3), np.array([10, 0, 4]))
        >>> rule.plan(memory, Opening(Roster.of(3), forecast=None)).served.tolist()
        [True, False, False]
    """

    inner: Rule[S, P]
    most_rounds: int
    how: Literal["wait", "stale"] = "wait"

    def __post_init__(self) -> None:
        if self.most_rounds < 1:
            raise ParameterError(
                f"most_rounds must be at least 1, but got {self.most_rounds}; give 20 to hear from each worker "
                "at least every 21st round, say."
            )
        if self.how not in ("wait", "stale"):
            raise ParameterError(
                f'how must be "wait" or "stale", but got {self.how!r}; give "wait" to keep all gradients fresh.'
            )

    @property
    def opens_with_plan(self) -> bool:
        """Return whether workers start after the plan: with `"stale"`, or if the inner rule wants it."""
        return self.takes_stale or self.inner.opens_with_plan

    @property
    def takes_stale(self) -> bool:
        """Return whether older gradients may be accepted: with `"stale"`, or by the inner rule."""
        return self.how == "stale" or self.inner.takes_stale

    def start(self) -> FairMemory[S]:
        """Return a memory in which no worker has gone without."""
        return FairMemory(self.inner.start(), NOBODY, NOBODY)

    def plan(self, memory: FairMemory[S], opening: Opening) -> FairPlan[P]:
        """Find the workers that this round waits for, and those whose older gradient it accepts."""
        workers = opening.roster.workers
        without = carried(memory.workers, memory.without, workers, 0)
        starved = without >= self.most_rounds
        served, welcome = np.zeros(len(workers), dtype=np.bool_), NOBODY
        if self.how == "stale":
            welcome = workers[starved]
        elif starved.any():
            served = 2 * without >= self.most_rounds
        return FairPlan(self.inner.plan(memory.inner, opening), served, welcome)

    def decide(self, plan: FairPlan[P], progress: Progress) -> Decision:
        """Decide as the inner rule does, but close only when all served workers are in or gone."""
        decision = self.inner.decide(plan.inner, progress)
        missing = int(np.count_nonzero(plan.served & np.isinf(progress.arrivals) & ~progress.gone))
        if isinstance(decision, Close) and missing:
            # At least so many arrivals are missing; if others come first, the rule is asked again.
            return Wait(count=progress.count + missing)
        return decision

    def learn(self, memory: FairMemory[S], plan: FairPlan[P], record: RoundRecord) -> FairMemory[S]:
        """Count the rounds that each worker has gone without."""
        inner = self.inner.learn(memory.inner, plan.inner, record)
        return FairMemory(inner, record.roster.workers, _counted(memory, record))

    def finishers(self, memory: FairMemory[S], record: RoundRecord) -> IntArray:
        """Return the inner rule's finishers, changed so that no worker goes without for too long.

        With `"wait"`, workers served soon are left out; with `"stale"`, cut workers at the bound are added.
        """
        chosen = self.inner.finishers(memory.inner, record)
        without = _counted(memory, record)
        if self.how == "wait":
            # A worker served soon must be free then: one still busy with old work would delay the others.
            soon = record.roster.workers[2 * without >= self.most_rounds]
            return chosen[~np.isin(chosen, soon)]
        starved = was_cut(record) & (without >= self.most_rounds)
        return np.union1d(chosen, record.roster.workers[starved])

    def worker_deadline(self, plan: FairPlan[P]) -> Seconds | None:
        """Return the inner rule's deadline."""
        return self.inner.worker_deadline(plan.inner)

    def worth_starting(self, plan: FairPlan[P], position: int, elapsed: Seconds) -> bool:
        """Return whether the round waits for the worker, or the inner rule lets it start."""
        return bool(plan.served[position]) or self.inner.worth_starting(plan.inner, position, elapsed)

    def welcome_stale(self, plan: FairPlan[P]) -> IntArray:
        """Return the inner rule's stale workers; with `"stale"` also all that have gone without too long."""
        return np.union1d(self.inner.welcome_stale(plan.inner), plan.welcome)

    def fixed_count(self, n: int) -> int | None:
        """Return n if the inner rule waits for all, since then no worker goes without; otherwise None."""
        return n if self.inner.fixed_count(n) == n else None


def _counted(memory: FairMemory[S], record: RoundRecord) -> IntArray:
    """Return `(n,)` the rounds in a row without an accepted gradient, after this round."""
    without = carried(memory.workers, memory.without, record.roster.workers, 0)
    served = (record.accepted > 0) | (record.fates == Fate.REJECTED)
    return np.where(served, 0, without + 1)
