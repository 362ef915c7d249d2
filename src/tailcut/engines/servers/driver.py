"""The driver: the rounds of `round.py` under asyncio, workers and shards as Ray actors.

what happened (Done, Gone, Back, Made) ─▶ Course (pure) ─▶ deeds ─▶ Jobs, out to workers
▲                                             └▶ Maker: updates
└──────────────────── Ray ◀──────────────────────┘
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

from tailcut.engines.in_time import in_time
from tailcut.engines.records.standing import At
from tailcut.engines.servers.course import Begin, Course, Deed, Drop, Make
from tailcut.engines.servers.crew import Back, Crew, Done, Failed, Gone, Happening
from tailcut.engines.servers.failures import ShardLostError
from tailcut.engines.servers.hooks import Hooks
from tailcut.engines.servers.jobs import Jobs
from tailcut.engines.servers.making import Made, Maker
from tailcut.engines.servers.roster import Roster
from tailcut.engines.servers.shards import Manifest, Shards
from tailcut.events import Applied, Arrived, Event, Joined, Left, Tick, merge_arrivals
from tailcut.policy import PolicyState
from tailcut.types import Seconds, WorkerId
from tailcut.work import Update

LOOK_UP: Seconds = 0.25
"""Longest wait for news before the driver's loop runs again, in seconds."""

News: TypeAlias = Happening | Made


@final
class Driver:
    """The loop of one run, from its first round to its last; listeners read the state of the run from it.

    Args:
        course_of: makes the rounds, given those before (None for the first); called again on a return.
        first: the manifest of the parameters to begin with.
        maker: makes updates. shards: hold the parameters.
        hire, dismiss: start and end a worker's actor.
        begin_with: number of workers that must have joined before the first round.
        hooks: callbacks to the caller.
        clock: returns the time in seconds.

    Attributes:
        has_begun: whether enough workers had joined for the first round.
        over: whether the run has ended. why: the reason of its failure; None where it did not fail.
        roster: the current activity of every worker.
        skipped: by version, why no gradient was added to make it. returns: versions gone back to.
        manifest: the newest manifest.
    """

    def __init__(
        self,
        course_of: Callable[[Course | None], Course],
        first: Manifest,
        maker: Maker,
        shards: Shards,
        hire: Callable[[WorkerId], Any],
        dismiss: Callable[[Any], None],
        *,
        begin_with: int,
        hooks: Hooks,
        clock: Callable[[], Seconds],
    ) -> None:
        self.manifest, self.over, self.has_begun = first, False, False
        self.why: str | None = None
        self.roster = Roster()
        self.skipped: dict[int, str] = {}
        self.returns: list[int] = []
        self._course_of, self._course = course_of, course_of(None)
        self._maker, self._shards, self._begin_with = maker, shards, begin_with
        self._crew = Crew(hire, dismiss, len(shards), self._tell, hooks.say, clock)
        self._jobs = Jobs(self._crew, self.roster, clock)
        self._hooks, self._clock = hooks, clock
        self._inbox: list[News] = []
        self._news = asyncio.Event()
        self._making: asyncio.Task[None] | None = None
        self._lost: ShardLostError | None = None

    # -- how it stands ------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The version of the newest parameters."""
        return self.manifest.version

    @property
    def learnt(self) -> PolicyState:
        """The state that the policy has learned."""
        return self._course.learnt

    @property
    def begun(self) -> dict[WorkerId, int]:
        """The number of mini-batches each worker has begun, where it counts its own; empty otherwise."""
        return self._course.begun

    @property
    def workers(self) -> list[At]:
        """The current activity of each worker."""
        return self.roster.standing

    # -- what can be asked of it --------------------------------------------------------------------------------

    def add(self, worker: WorkerId) -> None:
        """Start one more worker; it takes part from the round after it has joined."""
        self._crew.add(worker)

    def remove(self, worker: WorkerId) -> None:
        """Remove a worker; what it computes is discarded."""
        self._crew.remove(worker)
        self._tell(Gone(worker))

    async def run(self, workers: Sequence[WorkerId]) -> None:
        """Train with these workers until the run is over."""
        await self._shards.give(self.manifest)
        for worker in workers:
            self.add(worker)
        try:
            while not self.over:
                await self._something()
                self._take_in()
                if self._lost is not None and not self.over:
                    await self._go_back(self._lost)
                self._do(self._course.think())
                self._hooks.look(self)
        finally:
            self.over = True
            self._crew.close()
            if self._making is not None:
                self._making.cancel()

    # -- in -----------------------------------------------------------------------------------------------------

    def _tell(self, news: News) -> None:
        self._inbox.append(news)
        self._news.set()

    async def _something(self) -> None:
        """Wait for news, for the wake-up of the rounds, or for `LOOK_UP` seconds."""
        wake_at = self._course.wake_at
        pause = LOOK_UP if wake_at is None else min(max(wake_at - self._clock(), 0.0), LOOK_UP)
        if self._news.is_set() or pause <= 0.0:
            # Let callbacks that are ready add their news, so that all of it is handled together.
            await asyncio.sleep(0)
        else:
            try:
                async with asyncio.timeout(pause):
                    await self._news.wait()
            except TimeoutError:
                pass
        self._news.clear()

    def _take_in(self) -> None:
        """Handle the news since the last call: first all gradients, as arrivals of one instant.

        Gradients that count one by one are ordered by the workers' own finishing times.
        """
        news, self._inbox = self._inbox, []
        self._done(sorted((each for each in news if isinstance(each, Done)), key=lambda each: each.moment))
        for each in (each for each in news if not isinstance(each, Done)):
            if self.over:
                # The run has ended: losses do not matter any more.
                return
            self._take(each)
        wake_at = self._course.wake_at
        if wake_at is not None and self._clock() >= wake_at:
            self._course.wake_at = None
            self._handle(Tick(self._clock()))

    def _take(self, news: Made | Gone | Back | Failed) -> None:
        match news:
            case Made():
                self._made(news)
            case Gone():
                self._jobs.leave(news.worker)
                self._handle(Left(self._clock(), news.worker))
            case Back():
                self._back(news)
            case Failed(error=ShardLostError() as lost):
                self._lost = lost
            case Failed():
                raise news.error

    def _done(self, together: Sequence[Done]) -> None:
        wanted = [done for done in together if self._jobs.done(done)]
        now = self._moment()
        for done in wanted:
            self._hooks.heard(done)
        if wanted:
            self._handle(merge_arrivals([_arrival(done, now) for done in wanted]))

    def _moment(self) -> Seconds:
        """Return the time, in seconds, that counts for what is read now; it never runs backwards."""
        return max(in_time(self._clock(), self._course.wake_at), self._course.now)

    def _back(self, back: Back) -> None:
        node = self.roster.joins(back.worker, back.hello, self._clock())
        self._handle(Joined(self._clock(), back.worker, node))
        if not self.has_begun and len(self.roster.there) >= self._begin_with:
            self.has_begun = True
            self._handle(Applied(self._clock(), self.version))

    def _handle(self, event: Event) -> None:
        self._do(self._course.handle(event))

    # -- out ----------------------------------------------------------------------------------------------------

    def _do(self, deeds: Sequence[Deed]) -> None:
        for deed in deeds:
            match deed:
                case Begin(job):
                    self._jobs.begin(job, self.manifest)
                case Drop():
                    self._jobs.drop(deed.worker)
                case Make():
                    self._making = asyncio.get_running_loop().create_task(self._make(deed.update))

    async def _make(self, update: Update) -> None:
        """Have the shards make an update; gradients that it leaves out are dropped."""
        try:
            self._tell(await self._maker.make(update.record.version, self._jobs.taken(update)))
        except Exception as error:
            self._tell(Failed(error))

    def _made(self, made: Made) -> None:
        manifest = self._shards.manifest
        assert manifest is not None
        assert manifest.version == made.version
        self.manifest = manifest
        if made.skipped:
            self.skipped[made.version] = made.skipped
            self._hooks.skipped(made.version, made.skipped)
        self.over = self._hooks.after_update(manifest)
        if not self.over:
            self._handle(Applied(self._clock(), made.version, made.measured))
        self._hooks.keep(manifest)

    async def _go_back(self, lost: ShardLostError) -> None:
        """Recover from lost parameters: restore one version and let all workers begin from it."""
        self._lost = None
        if self._making is not None:
            self._making.cancel()
            await asyncio.gather(self._making, return_exceptions=True)
            self._making = None
        self._jobs.forget()
        self._inbox = [news for news in self._inbox if _counts_still(news)]
        self.manifest = await self._hooks.restore()
        self._maker.term += 1
        self.returns.append(self.version)
        self.skipped = {version: why for version, why in self.skipped.items() if version <= self.version}
        self._hooks.back(self.version, str(lost))
        await self._shards.give(self.manifest)
        self._course = self._course_of(self._course)
        for worker, node in self.roster.there.items():
            self._handle(Joined(self._clock(), worker, node))
        self._handle(Applied(self._clock(), self.version))


def _arrival(done: Done, now: Seconds) -> Arrived:
    """Return the arrival, read at `now`, of a worker that is done with its job."""
    came, job = done.came, done.came.job
    return Arrived(now, job.worker, job.version, done.run_time(now), came.share, came.finite)


def _counts_still(news: News) -> bool:
    """Return whether news still counts after the run went back: what came of older jobs does not."""
    if isinstance(news, Failed):
        return not isinstance(news.error, ShardLostError)
    return isinstance(news, Gone | Back)
