"""The driver's side of the workers: jobs out, what came of them back, deaths and returns."""

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
"""Between two tries to reach a worker that is being restarted; one that dies again is left alone for longer."""
FEW = 3
"""Deaths as it begins, after which that is said."""
LATE: Seconds = 60.0
"""Seconds after which it is said that a worker has not come."""
MOST_DEATHS = 20
"""Of one worker, before it is done with anything: then there is something wrong with what it does."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """A worker is done with a job.

    Attributes:
        came: what it says.
        gradient: `(shards,)` refs to its gradient.
        sent: the driver's seconds at which it was sent off.
    """

    came: Came
    gradient: tuple[Ref, ...]
    sent: Seconds

    @property
    def moment(self) -> Seconds:
        """The driver's seconds at which it was done, by the worker's own measure."""
        return self.sent + self.came.run_time

    def run_time(self, heard: Seconds) -> Seconds:
        """As the rounds see it: fetching parameters and the way of the gradient belong to it, or who needs them is cut.

        Args:
            heard: the driver's seconds at which it is taken in.
        """
        return max(self.came.run_time, heard - self.sent)


@final
@dataclass(frozen=True, slots=True)
class Gone:
    """A worker has died."""

    worker: WorkerId


@final
@dataclass(frozen=True, slots=True)
class Back:
    """A worker is there, for the first time or again."""

    worker: WorkerId
    hello: Hello


@final
@dataclass(frozen=True, slots=True, eq=False)
class Failed:
    """Something went wrong that no restart will mend."""

    error: BaseException


Happening: TypeAlias = Done | Gone | Back | Failed


@final
@dataclass(slots=True, eq=False)
class _Place:
    """One worker."""

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
    """All workers.

    Args:
        hire: makes the actor of a worker.
        dismiss: ends an actor.
        shards: pieces that a gradient comes in.
        tell: is told what happens. say: is told of deaths, in sentences.
        clock: seconds.
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
        """Those that were added and not removed."""
        return sorted(self._places)

    def add(self, worker: WorkerId) -> None:
        """Start a worker; it is told of when it is there. One that was added before stays as it is."""
        if worker in self._places:
            return
        place = self._places[worker] = _Place(self._hire(worker))
        self._watch(place, self._awaited(worker, place))

    def remove(self, worker: WorkerId) -> None:
        """End a worker."""
        place = self._places.pop(worker, None)
        if place is not None:
            for task in place.waiting:
                task.cancel()
            self._dismiss(place.actor)

    def close(self) -> None:
        """End all."""
        for worker in self.workers:
            self.remove(worker)

    def begin(self, job: Job, manifest: Manifest) -> None:
        """Send a job off, with the parameters of the manifest."""
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
        """Tell a worker to stop what it does."""
        place = self._places.get(worker)
        if place is not None and place.busy is not None:
            serial, place.busy = place.busy, None
            place.actor.drop.options(concurrency_group=CONTROL).remote(serial)

    def forget(self) -> None:
        """Nothing that is under way counts any more: the run has gone back behind it."""
        self._newest = -1
        for place in self._places.values():
            place.forgotten, place.busy = place.serial, None

    def _watch(self, place: _Place, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        place.waiting.add(task)
        task.add_done_callback(place.waiting.discard)

    async def _heard(self, job: Job, place: _Place, refs: list[Ref], serial: int, sent: Seconds) -> None:
        """Wait for the end of a job."""
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
        """The parameters of a job that is still wanted are gone."""
        lost = f"The parameters of version {job.version} are gone with their node."
        if job.version >= self._newest or place.hello is None:
            # With these it would fail again, whoever does it.
            self._tell(Failed(ShardLostError(lost)))
            return
        # Newer ones are there: only this job is lost, as if its worker had died and come back at once.
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
        """Whether a worker has died too often; if so, the run is told to end."""
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
        """Wait until a worker that is being started answers."""
        # Ray keeps the call of one that dies as it begins, and starts it again and again without a word.
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
