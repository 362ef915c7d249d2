"""The books of one open round: who started when, who is in, who is gone; and the record they add up to."""

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
    """Whether a run time can be learnt from: one that exceeds nothing, or is no number, teaches nothing."""
    return 0.0 < seconds < np.inf


class OpenLedger:
    """One open round. All arrays are aligned with `roster.workers`.

    Attributes:
        deadline: seconds after which each worker stops by itself, None for never.
        welcome: workers whose gradient counts however old it is.
        wait: what was decided last; None as long as the opening has not been decided on.
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
        """Whether nobody is left who could still come."""
        return self._out == 0 and self.count > 0

    @property
    def empty(self) -> bool:
        """Whether nobody came and nobody is left."""
        return self._out == 0 and self.count == 0

    def due(self, now: Seconds, tick: bool) -> bool:
        """Whether the last `Wait` asked to be woken by `now`, or nobody is left to wait for.

        An arrival at the very moment of a wake-up leaves the decision to the tick: others may come then too.
        """
        wait = self.wait or Wait()
        if self.complete or (wait.count is not None and self.count >= wait.count):
            return True
        if wait.until is None:
            return False
        moment = self.opened + wait.until
        return now >= moment if tick else now > moment

    def elapsed(self, now: Seconds) -> Seconds:
        """Seconds since the opening; at a wake-up, no less than was asked for, however the clock rounds."""
        elapsed, until = now - self.opened, self.wait.until if self.wait else None
        woken = until is not None and now >= self.opened + until
        return max(elapsed, until) if woken and until is not None else elapsed

    def may_take(self, event: Arrived, admitted: bool) -> bool:
        """Whether a gradient counts here: admitted for its age or welcome, of one who takes part, not counted yet."""
        if not (admitted or event.worker in self.welcome) or event.worker not in self.position:
            return False
        return not (self.counts_workers and self.is_in(event.worker))

    def is_in(self, worker: WorkerId) -> bool:
        """Whether the worker has arrived in this round, usable or not. Workers outside the roster count as in."""
        i = self.position.get(worker)
        return i is None or bool(self._arrivals[i] < np.inf)

    def started(self, workers: Sequence[WorkerId], now: Seconds) -> None:
        """Workers begin on this round's version; those outside the roster do not matter."""
        places = [i for i in map(self.position.get, workers) if i is not None]
        self._started[places] = now
        self._fates[places] = np.where(
            self._fates[places] == Fate.UNSTARTED, Fate.PENDING, self._fates[places]
        )

    def take(self, event: Arrived, staleness: int) -> None:
        """A gradient that this round admits is in."""
        i = self.position[event.worker]
        if staleness == 0:
            # An older gradient has its own fate and run time, which are told apart from this version's.
            self._fates[i] = Fate.USED if event.finite else Fate.REJECTED
            if is_run_time(event.run_time):
                self._seconds[i] = event.run_time
                self._observed[i] = event.share >= 1.0
        if self._arrivals[i] == np.inf:
            # Who came between the last close and the opening is in from the start.
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
        """A worker left; `since` is when it began on this version, None if it is not at work on it."""
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
        """A worker that came free too late to begin: it will not come in this round."""
        self._gone[self.position[worker]] = True
        self._out -= 1

    def ended(self) -> list[tuple[WorkerId, Fate, Seconds]]:
        """Fate and run time of every gradient of this version that came to an end, accepted ones aside."""
        ends = (Fate.LOST, Fate.REJECTED)
        rows = zip(self.roster.workers.tolist(), self._fates.tolist(), self._seconds.tolist(), strict=True)
        return [(worker, Fate(fate), seconds) for worker, fate, seconds in rows if fate in ends]

    def progress(self, elapsed: Seconds) -> Progress:
        """What a rule may see `elapsed` seconds after the opening."""
        return Progress(elapsed, self._arrivals, self._gone, self.count)

    def record(self, now: Seconds, overhead: Seconds, pending: set[WorkerId]) -> RoundRecord:
        """Close the books at `now`; `pending` workers finish and report later, the others are abandoned."""
        ids = self.roster.workers
        fates, seconds = self._fates.copy(), self._seconds.copy()
        cut = (fates == Fate.PENDING) & ~self._gone
        if pending:
            cut &= ~np.isin(ids, list(pending))
        fates[cut] = Fate.ABANDONED
        seconds[cut] = now - self._started[cut]
        # A run time that exceeds nothing teaches nothing (a worker that started at the very close).
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
