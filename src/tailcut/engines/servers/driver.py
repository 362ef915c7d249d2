"""The driver: the rounds of `round.py` under asyncio, workers and shards as Ray actors.

what happened (Done, Gone, Back, Made) ─▶ Course (pure) ─▶ deeds ─▶ Crew: jobs out
                  ▲                                             └▶ Shards: updates
                  └──────────────────── Ray ◀──────────────────────┘
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

from tailcut.engines.servers.course import Begin, Course, Deed, Drop, Make
from tailcut.engines.servers.crew import Back, Crew, Done, Failed, Gone, Happening
from tailcut.engines.servers.orders import Came, Order
from tailcut.engines.servers.reckoning import Reckoning
from tailcut.engines.servers.shards import Manifest, Ref, Shards
from tailcut.events import Applied, Arrived, Event, Joined, Left, Tick
from tailcut.types import Measured, Seconds, WorkerId
from tailcut.work import Update, Work

LOOK_UP: Seconds = 0.25
"""Seconds after which it looks up from waiting."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """An update is in the manifest.

    Attributes:
        version: of the parameters now.
        measured: what its gradients showed.
    """

    version: int
    measured: Measured | None


News: TypeAlias = Happening | Made


@final
class Driver:
    """One run, from its first round to its last.

    Args:
        course: the rounds.
        reckoning: from gradients to orders.
        shards: where the parameters are.
        hire, dismiss: make and end a worker's actor.
        workers: that the run begins with; it begins when all are there.
        total: version at which it ends.
        after_update: is told every new manifest, and whether the run should end is its answer.
        look: is called several times a second with the clock's seconds.
        clock: seconds.
    """

    def __init__(
        self,
        course: Course,
        reckoning: Reckoning,
        shards: Shards,
        hire: Callable[[WorkerId], Any],
        dismiss: Callable[[Any], None],
        workers: int,
        total: int,
        *,
        after_update: Callable[[Manifest], bool],
        look: Callable[[Seconds], None],
        clock: Callable[[], Seconds],
    ) -> None:
        self._course, self._reckoning, self._shards = course, reckoning, shards
        self._crew = Crew(hire, dismiss, len(shards), self._tell, clock)
        self._awaited, self._total = set(range(workers)), total
        self._after_update, self._look, self._clock = after_update, look, clock
        self._inbox: list[News] = []
        self._news = asyncio.Event()
        self._running: dict[WorkerId, Work] = {}
        self._arrived: dict[Work, Done] = {}
        self._nodes: dict[str, int] = {}
        self._making: asyncio.Task[None] | None = None
        self._has_begun = self.over = False

    async def run(self, first: Manifest) -> None:
        """Train from these parameters until it is over."""
        self._manifest = first
        await self._shards.give(first)
        for worker in sorted(self._awaited):
            self._crew.add(worker)
        try:
            while not self.over:
                await self._something()
                self._take_in()
                self._do(self._course.think())
                self._look(self._clock())
        finally:
            self._crew.close()
            if self._making is not None:
                self._making.cancel()

    # -- in -----------------------------------------------------------------------------------------------------

    def _tell(self, news: News) -> None:
        self._inbox.append(news)
        self._news.set()

    async def _something(self) -> None:
        """Wait until there is news, or something is due."""
        wake_at = self._course.wake_at
        pause = LOOK_UP if wake_at is None else min(max(wake_at - self._clock(), 0.0), LOOK_UP)
        if not self._news.is_set() and pause > 0.0:
            try:
                async with asyncio.timeout(pause):
                    await self._news.wait()
            except TimeoutError:
                pass
        else:
            # Whatever else is ready comes with it.
            await asyncio.sleep(0)
        self._news.clear()

    def _take_in(self) -> None:
        """What came together is taken in the order in which workers say it was done, whoever was heard first."""
        news, self._inbox = self._inbox, []
        done = sorted((each for each in news if isinstance(each, Done)), key=lambda each: each.moment)
        for each in [*done, *(each for each in news if not isinstance(each, Done))]:
            self._take(each)
        wake_at = self._course.wake_at
        if wake_at is not None and self._clock() >= wake_at:
            self._course.wake_at = None
            self._handle(Tick(self._clock()))

    def _take(self, news: News) -> None:
        match news:
            case Done():
                self._done(news)
            case Made():
                self._made(news)
            case Gone():
                self._running.pop(news.worker, None)
                self._handle(Left(self._clock(), news.worker))
            case Back():
                self._back(news)
            case Failed():
                raise news.error

    def _done(self, done: Done) -> None:
        came = done.came
        work = Work(came.job.worker, came.job.version, came.job.number)
        if self._running.get(work.worker) != work:
            # It was told to drop it, and was done before it heard.
            return
        del self._running[work.worker]
        if came.finite:
            self._arrived[work] = done
        share, finite = came.share, came.finite
        self._handle(Arrived(self._moment(), work.worker, work.version, came.run_time, share, finite))

    def _moment(self) -> Seconds:
        """What came while the driver was busy is in time for a wake-up that has passed meanwhile."""
        now, wake_at = self._clock(), self._course.wake_at
        return now if wake_at is None else min(now, wake_at)

    def _back(self, back: Back) -> None:
        node = self._nodes.setdefault(back.hello.node, len(self._nodes))
        self._handle(Joined(self._clock(), back.worker, node))
        self._awaited.discard(back.worker)
        if not self._awaited and not self._has_begun:
            self._has_begun = True
            self._handle(Applied(self._clock(), self._manifest.version))

    def _handle(self, event: Event) -> None:
        self._do(self._course.handle(event))

    # -- out ----------------------------------------------------------------------------------------------------

    def _do(self, deeds: Sequence[Deed]) -> None:
        for deed in deeds:
            match deed:
                case Begin(job):
                    self._running[job.worker] = Work(job.worker, job.version, job.number)
                    self._crew.begin(job, self._manifest)
                case Drop():
                    self._running.pop(deed.worker, None)
                    self._crew.drop(deed.worker)
                case Make():
                    loop = asyncio.get_running_loop()
                    self._making = loop.create_task(self._make(deed.update))

    async def _make(self, update: Update) -> None:
        """Have the shards make an update; what was not taken into it is let go."""
        done = [self._arrived.pop(work) for work in update.accepted]
        for work in (*update.late, *update.dropped):
            self._arrived.pop(work, None)
        came, gradients = [each.came for each in done], [each.gradient for each in done]
        try:
            order = await self._weighed(update.record.version, came, gradients)
            answers = await self._shards.apply(order, gradients)
            self._tell(Made(order.base + 1, self._reckoning.made(order, came, answers)))
        except Exception as error:
            self._tell(Failed(error))

    async def _weighed(self, version: int, came: Sequence[Came], gradients: Sequence[Sequence[Ref]]) -> Order:
        order = self._reckoning.order(0, version, came)
        if self._reckoning.clips:
            order = self._reckoning.clipped(order, await self._shards.weigh(order, gradients))
        return order

    def _made(self, made: Made) -> None:
        manifest = self._shards.manifest
        assert manifest is not None
        assert manifest.version == made.version
        self._manifest = manifest
        self.over = self._after_update(manifest) or made.version >= self._total
        if not self.over:
            self._handle(Applied(self._clock(), made.version, made.measured))
