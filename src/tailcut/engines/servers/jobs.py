"""What workers are doing, and what came of it and is not used yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from tailcut.engines.servers.crew import Crew, Done
from tailcut.engines.servers.orders import Job
from tailcut.engines.servers.roster import Roster
from tailcut.engines.servers.shards import Manifest
from tailcut.types import Seconds, WorkerId
from tailcut.work import Update, Work


@final
class Jobs:
    """All jobs that are under way, and gradients that wait for the close of a round.

    Args:
        crew: does them.
        roster: is told who does what.
        clock: seconds.
    """

    def __init__(self, crew: Crew, roster: Roster, clock: Callable[[], Seconds]) -> None:
        self._crew, self._roster, self._clock = crew, roster, clock
        self._running: dict[WorkerId, Work] = {}
        self._arrived: dict[Work, Done] = {}

    def begin(self, job: Job, manifest: Manifest) -> None:
        """Send a job off, with the parameters of the manifest."""
        self._running[job.worker] = Work(job.worker, job.version, job.number)
        self._roster.begins(job.worker, job.version, self._clock())
        self._crew.begin(job, manifest)

    def drop(self, worker: WorkerId) -> None:
        """A worker is to stop what it does."""
        self._running.pop(worker, None)
        self._roster.drops(worker)
        self._crew.drop(worker)

    def leave(self, worker: WorkerId) -> None:
        """A worker is gone, with what it was doing."""
        self._running.pop(worker, None)
        self._roster.leaves(worker, self._clock())

    def done(self, done: Done) -> bool:
        """A worker is done; whether that is still what it was to do."""
        came = done.came
        work = Work(came.job.worker, came.job.version, came.job.number)
        if self._running.get(work.worker) != work:
            # It was told to drop it, and was done before it heard.
            return False
        del self._running[work.worker]
        if came.finite:
            self._arrived[work] = done
        self._roster.waits(work.worker, self._clock())
        return True

    def taken(self, update: Update) -> list[Done]:
        """The gradients of an update, in its order; those that it leaves out are let go."""
        accepted = [self._arrived.pop(work) for work in update.accepted]
        for work in (*update.late, *update.dropped):
            self._arrived.pop(work, None)
        return accepted

    def forget(self) -> None:
        """The run has gone back behind all of them."""
        for worker in list(self._running):
            self._crew.drop(worker)
        self._running.clear()
        self._arrived.clear()
        self._crew.forget()
