"""The driver's side of the workers: send jobs, collect results, handle deaths and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

from tailcut.engines.servers.actors import CONTROL, Hello
from tailcut.engines.servers.failures import (
    ServersError,
    ShardLostError,
    is_actor_gone,
    is_object_lost,
    is_restarting,
    never_began,
)
from tailcut.engines.servers.orders import Came, Job
from tailcut.engines.servers.shards import Manifest, Ref
from tailcut.types import Seconds, WorkerId

AGAIN: Seconds = 0.1
"""Pause between attempts to reach a restarting worker, in seconds; multiplied by its deaths so far."""
FEW = 3
"""Number of deaths at startup after which the user is told."""
LATE: Seconds = 60.0
"""Seconds after which the user is told that a worker has not started."""
MOST_DEATHS = 20
"""Most deaths of one worker without a finished job in between; after more the run fails."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """The news that a worker is done with a job.

    Attributes:
        came: the worker's report.
        gradient: `(shards,)` refs to the pieces of its gradient.
        sent: the driver's time, in seconds, at which the job was sent.
    """

    came: Came
    gradient: tuple[Ref, ...]
    sent: Seconds

    @property
    def moment(self) -> Seconds:
        """The driver's time, in seconds, at which the job was done by the worker's own measure."""
        return self.sent + self.came.run_time

    def run_time(self, heard: Seconds) -> Seconds:
        """Return the run time that the rounds count, in seconds, with parameter and gradient transfers.

        Without them a worker would be cut for the time that its transfers take.

        Args:
            heard: the driver's time, in seconds, at which the result is handled.
        """
        return max(self.came.run_time, heard - self.sent)


@final
@dataclass(frozen=True, slots=True)
class Gone:
    """The news that a worker has died."""

    worker: WorkerId


@final
@dataclass(frozen=True, slots=True)
class Back:
    """The news that a worker has started, for the first time or again."""

    worker: WorkerId
    hello: Hello


@final
@dataclass(frozen=True, slots=True, eq=False)
class Failed:
    """The news of an error that no restart repairs."""

    error: BaseException


Happening: TypeAlias = Done | Gone | Back | Failed


@final
@dataclass(slots=True, eq=False)
class _Place:
    """One worker as the driver sees it."""

    actor: Any
    serial: int = 0
    busy: int | None = None
    forgotten: int = 0
    is_there: bool = False
    hello: Hello | None = None
    deaths: int = 0
    waiting: set[asyncio.Task[None]] = field(default_factory=set)


@final
class Crew:
    """The workers of a run.

    Args:
        hire: starts the actor of a worker.
        dismiss: ends an actor.
        shards: number of pieces that a gradient is cut into.
        tell: called with what happens. say: called with messages to the user, about deaths for instance.
        clock: returns the time in seconds.
    """

    def __init__(
        self,
        hire: Callable[[WorkerId], Any],
        dismiss: Callable[[Any], None],
        shards: int,
        tell: Callable[[Happening], None],
        say: Callable[[str], None],
        clock: Callable[[], Seconds],
    ) -> None:
        self._hire, self._dismiss, self._shards = hire, dismiss, shards
        self._tell, self._say, self._clock = tell, say, clock
        self._places: dict[WorkerId, _Place] = {}
        self._newest = -1

    @property
    def workers(self) -> list[WorkerId]:
        """The ids of the workers that were added and not removed, increasing."""
        return sorted(self._places)

    def add(self, worker: WorkerId) -> None:
        """Start a worker, unless it was added before; `Back` is told when it is there."""
        if worker in self._places:
            return
        place = self._places[worker] = _Place(self._hire(worker))
        self._watch(place, self._awaited(worker, place))

    def remove(self, worker: WorkerId) -> None:
        """End a worker's actor."""
        place = self._places.pop(worker, None)
        if place is not None:
            for task in place.waiting:
                task.cancel()
            self._dismiss(place.actor)

    def close(self) -> None:
        """End the actors of all workers."""
        for worker in self.workers:
            self.remove(worker)

    def begin(self, job: Job, manifest: Manifest) -> None:
        """Send a job to its worker, with the parameters of the manifest."""
        place = self._places.get(job.worker)
        if place is None:
            return
        assert manifest.version == job.version
        self._newest = max(self._newest, manifest.version)
        place.serial += 1
        place.busy = place.serial
        call = place.actor.compute.options(num_returns=1 + self._shards)
        refs = call.remote(job, place.serial, *manifest.parameters)
        self._watch(place, self._heard(job, place, refs, place.serial, self._clock()))

    def drop(self, worker: WorkerId) -> None:
        """Tell a worker to drop its job."""
        place = self._places.get(worker)
        if place is not None and place.busy is not None:
            serial, place.busy = place.busy, None
            place.actor.drop.options(concurrency_group=CONTROL).remote(serial)

    def forget(self) -> None:
        """Ignore the results of all running jobs, because the run went back to an older version."""
        self._newest = -1
        for place in self._places.values():
            place.forgotten, place.busy = place.serial, None

    def _watch(self, place: _Place, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        place.waiting.add(task)
        task.add_done_callback(place.waiting.discard)

    async def _heard(self, job: Job, place: _Place, refs: list[Ref], serial: int, sent: Seconds) -> None:
        """Wait for the end of a job and tell what came of it."""
        worker = job.worker
        try:
            came: Came = await refs[0]
        except Exception as error:
            if self._places.get(worker) is not place:
                return
            if is_actor_gone(error):
                await self._gone(worker, place, error)
            elif not is_object_lost(error):
                self._tell(Failed(error))
            elif serial > place.forgotten and place.busy == serial:
                self._lost(job, place)
            return
        place.deaths = 0
        is_wanted = self._places.get(worker) is place and serial > place.forgotten
        if is_wanted and not came.was_abandoned:
            self._tell(Done(came, tuple(refs[1:]), sent))

    def _lost(self, job: Job, place: _Place) -> None:
        """Handle a wanted job whose parameters are lost."""
        lost = f"The parameters of version {job.version} are gone with their node."
        if job.version >= self._newest or place.hello is None:
            # These are the newest parameters: any worker would fail with them again.
            self._tell(Failed(ShardLostError(lost)))
            return
        # Newer parameters exist: only this job is lost, as if its worker had died and restarted at once.
        self._say(f"{lost} Worker {job.worker} begins again with newer ones.")
        place.busy = None
        self._tell(Gone(job.worker))
        self._tell(Back(job.worker, place.hello))

    async def _gone(self, worker: WorkerId, place: _Place, error: Exception) -> None:
        if not place.is_there:
            return
        place.is_there, place.busy, place.deaths = False, None, place.deaths + 1
        if self._is_too_often(worker, place, error):
            return
        self._say(f"Worker {worker} has died; it is restarted, and takes part again when it is there.")
        self._tell(Gone(worker))
        await self._awaited(worker, place)

    def _is_too_often(self, worker: WorkerId, place: _Place, error: Exception) -> bool:
        """Return whether a worker has died too often, and if so tell that the run fails."""
        if place.deaths <= MOST_DEATHS:
            return False
        why = str(error).strip().splitlines()[-1].strip()
        self._tell(
            Failed(
                ServersError(
                    f"Worker {worker} has died {place.deaths} times before it was done with a mini-batch: {why}. "
                    "Mend the task, or give workers more memory, and start again."
                )
            )
        )
        return True

    async def _awaited(self, worker: WorkerId, place: _Place) -> None:
        """Wait until a worker that is starting answers."""
        # Ray keeps the call of an actor that dies at startup, and restarts it repeatedly without a report.
        late = asyncio.get_running_loop().call_later(
            LATE,
            self._say,
            f"Worker {worker} is not there after {LATE:g} s: the cluster has no room for it, or it dies as it begins. "
            "`ray status` and Ray's logs tell which.",
        )
        try:
            await self._answered(worker, place)
        finally:
            late.cancel()

    async def _answered(self, worker: WorkerId, place: _Place) -> None:
        while self._places.get(worker) is place:
            try:
                place.hello = await place.actor.hello.remote()
            except Exception as error:
                if not is_actor_gone(error) or never_began(error):
                    self._tell(Failed(error))
                    return
                if not is_restarting(error):
                    place.deaths += 1
                    if self._is_too_often(worker, place, error):
                        return
                    if place.deaths == FEW:
                        self._say(f"Worker {worker} has died {FEW} times as it began; it is tried again.")
                await asyncio.sleep(AGAIN * max(place.deaths, 1))
                continue
            place.is_there = True
            self._tell(Back(worker, place.hello))
            return
