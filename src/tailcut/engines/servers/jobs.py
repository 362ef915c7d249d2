"""Track what workers compute, and the gradients that arrived and are not used yet."""

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
    """The running jobs, and the gradients that wait for the close of a round.

    Args:
        crew: sends them to the workers.
        roster: records what each worker does.
        clock: returns the time in seconds.
    """

    def __init__(self, crew: Crew, roster: Roster, clock: Callable[[], Seconds]) -> None:
        self._crew, self._roster, self._clock = crew, roster, clock
        self._running: dict[WorkerId, Work] = {}
        self._arrived: dict[Work, Done] = {}

    def begin(self, job: Job, manifest: Manifest) -> None:
        """Send a job to its worker, with the parameters of the manifest."""
        self._running[job.worker] = Work(job.worker, job.version, job.number)
        self._roster.begins(job.worker, job.version, self._clock())
        self._crew.begin(job, manifest)

    def drop(self, worker: WorkerId) -> None:
        """Tell a worker to drop its job."""
        self._running.pop(worker, None)
        self._roster.drops(worker)
        self._crew.drop(worker)

    def leave(self, worker: WorkerId) -> None:
        """Record that a worker is gone, and its job with it."""
        self._running.pop(worker, None)
        self._roster.leaves(worker, self._clock())

    def done(self, done: Done) -> bool:
        """Record that a worker is done; return whether its job is still wanted."""
        came = done.came
        work = Work(came.job.worker, came.job.version, came.job.number)
        if self._running.get(work.worker) != work:
            # The worker was done before it heard that it should drop the job.
            return False
        del self._running[work.worker]
        if came.finite:
            self._arrived[work] = done
        self._roster.waits(work.worker, self._clock())
        return True

    def taken(self, update: Update) -> list[Done]:
        """Return the gradients of an update, in its order, and drop those that it leaves out."""
        accepted = [self._arrived.pop(work) for work in update.accepted]
        for work in (*update.late, *update.dropped):
            self._arrived.pop(work, None)
        return accepted

    def forget(self) -> None:
        """Drop all jobs and gradients, because the run went back to an older version."""
        for worker in list(self._running):
            self._crew.drop(worker)
        self._running.clear()
        self._arrived.clear()
        self._crew.forget()
