"""The ledger of one open round: the workers that have started, arrived or left, and the final record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailcut.events import Accepted, Arrived
from tailcut.types import (
    BoolArray,
    Fate,
    FloatArray,
    IntArray,
    Progress,
    Roster,
    RoundRecord,
    RunTimes,
    Seconds,
    Wait,
    WorkerId,
)


def is_run_time(seconds: Seconds) -> bool:
    """Return whether a run time is positive and finite, so that a forecaster can learn from it."""
    return 0.0 < seconds < np.inf


class OpenLedger:
    """One open round. All arrays are aligned with `roster.workers`.

    Attributes:
        deadline: seconds after which each worker stops by itself, None for never.
        welcome: workers whose gradient counts however old it is.
        wait: the rule's last decision; None until it has been asked for the first time.
    """

    def __init__(self, version: int, opened: Seconds, roster: Roster, counts_workers: bool) -> None:
        n = len(roster)
        self.version = version
        self.opened = opened
        self.roster = roster
        self.counts_workers = counts_workers
        self.deadline: Seconds | None = None
        self.welcome: frozenset[WorkerId] = frozenset()
        self.wait: Wait | None = None
        self.position: dict[WorkerId, int] = {w: i for i, w in enumerate(roster.workers.tolist())}
        self.accepted: list[Accepted] = []
        self.count = 0
        self._out = n  # distinct workers that can still come
        self._staleness: list[int] = []
        self._arrivals: FloatArray = np.full(n, np.inf)
        self._started: FloatArray = np.full(n, np.nan)
        self._seconds: FloatArray = np.full(n, np.nan)
        self._observed: BoolArray = np.zeros(n, dtype=np.bool_)
        self._gone: BoolArray = np.zeros(n, dtype=np.bool_)
        self._taken: IntArray = np.zeros(n, dtype=np.int64)
        self._covered: FloatArray = np.zeros(n)
        self._fates: IntArray = np.full(n, Fate.UNSTARTED, dtype=np.int64)

    @property
    def complete(self) -> bool:
        """Return whether gradients have arrived and no worker can still arrive."""
        return self._out == 0 and self.count > 0

    @property
    def empty(self) -> bool:
        """Return whether no usable gradient has arrived and no worker can still arrive."""
        return self._out == 0 and self.count == 0

    def due(self, now: Seconds, tick: bool) -> bool:
        """Return whether the last `Wait` is over at `now`, or no worker can still arrive.

        At the exact time of a wake-up an arrival leaves the decision to the tick: more may arrive then.
        """
        wait = self.wait or Wait()
        if self.complete or (wait.count is not None and self.count >= wait.count):
            return True
        if wait.until is None:
            return False
        moment = self.opened + wait.until
        return now >= moment if tick else now > moment

    def elapsed(self, now: Seconds) -> Seconds:
        """Return the seconds since the opening; at a wake-up at least those that were requested."""
        elapsed, until = now - self.opened, self.wait.until if self.wait else None
        woken = until is not None and now >= self.opened + until
        return max(elapsed, until) if woken and until is not None else elapsed

    def may_take(self, event: Arrived, admitted: bool) -> bool:
        """Return whether a gradient counts here: admitted or welcome, of the roster, and not counted yet."""
        if not (admitted or event.worker in self.welcome) or event.worker not in self.position:
            return False
        return not (self.counts_workers and self.is_in(event.worker))

    def is_in(self, worker: WorkerId) -> bool:
        """Return whether the worker has arrived in this round, or is not in its roster."""
        i = self.position.get(worker)
        return i is None or bool(self._arrivals[i] < np.inf)

    def started(self, workers: Sequence[WorkerId], now: Seconds) -> None:
        """Record that workers begin on this round's version; workers outside the roster are ignored."""
        places = [i for i in map(self.position.get, workers) if i is not None]
        self._started[places] = now
        self._fates[places] = np.where(
            self._fates[places] == Fate.UNSTARTED, Fate.PENDING, self._fates[places]
        )

    def take(self, event: Arrived, staleness: int) -> None:
        """Record the arrival of a gradient that this round admits."""
        i = self.position[event.worker]
        if staleness == 0:
            # The fate and run time of an older gradient are settled separately, by `Members.settle`.
            self._fates[i] = Fate.USED if event.finite else Fate.REJECTED
            if is_run_time(event.run_time):
                self._seconds[i] = event.run_time
                self._observed[i] = event.share >= 1.0
        if self._arrivals[i] == np.inf:
            # A worker that arrived between the last close and this opening is in at time 0.
            self._arrivals[i] = max(event.now - self.opened, 0.0)
            if self.counts_workers:
                self._out -= 1
        if not event.finite:
            return
        self.count += 1
        self.accepted.append(Accepted(event.worker, event.version, event.share))
        self._staleness.append(staleness)
        self._taken[i] += 1
        self._covered[i] += event.share

    def lose(self, worker: WorkerId, now: Seconds, since: Seconds | None) -> None:
        """Record that a worker left; it began on this version at `since`, None if it does not work on it."""
        i = self.position[worker]
        if self._gone[i]:
            return
        self._gone[i] = True
        if self._arrivals[i] == np.inf or not self.counts_workers:
            self._out -= 1
        if since is not None and self._fates[i] != Fate.USED:
            self._seconds[i], self._observed[i] = now - since, False
            self._fates[i] = Fate.LOST

    def sit_out(self, worker: WorkerId) -> None:
        """Record that a worker came free too late to begin: it will not arrive in this round."""
        self._gone[self.position[worker]] = True
        self._out -= 1

    def ended(self) -> list[tuple[WorkerId, Fate, Seconds]]:
        """Return worker, fate and run time of every lost or rejected gradient of this version."""
        ends = (Fate.LOST, Fate.REJECTED)
        rows = zip(self.roster.workers.tolist(), self._fates.tolist(), self._seconds.tolist(), strict=True)
        return [(worker, Fate(fate), seconds) for worker, fate, seconds in rows if fate in ends]

    def progress(self, elapsed: Seconds) -> Progress:
        """Return the progress that a rule may see `elapsed` seconds after the opening."""
        return Progress(elapsed, self._arrivals, self._gone, self.count)

    def record(self, now: Seconds, overhead: Seconds, pending: set[WorkerId]) -> RoundRecord:
        """Return the record of a close at `now`; `pending` workers report later, the others are abandoned."""
        ids = self.roster.workers
        fates, seconds = self._fates.copy(), self._seconds.copy()
        cut = (fates == Fate.PENDING) & ~self._gone
        if pending:
            cut &= ~np.isin(ids, list(pending))
        fates[cut] = Fate.ABANDONED
        seconds[cut] = now - self._started[cut]
        # A bound of 0 seconds, of a worker that started at the close, carries no information.
        known = seconds > 0.0
        run_times = RunTimes(ids[known], seconds[known], self._observed[known], self.roster.nodes[known])
        return RoundRecord(
            version=self.version,
            opened=self.opened,
            elapsed=now - self.opened,
            overhead=overhead,
            roster=self.roster,
            arrivals=self._arrivals.copy(),
            accepted=self._taken.copy(),
            shares=np.where(self._taken > 0, self._covered / np.maximum(self._taken, 1), 1.0),
            fates=fates,
            run_times=run_times,
            staleness=np.array(self._staleness, dtype=np.int64),
        )
