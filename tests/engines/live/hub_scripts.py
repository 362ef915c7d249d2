"""Workers without nets, sockets or clocks, that obey the hub in virtual time; and shorthands for messages."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import msgspec
import numpy as np

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.orders import Answers
from tailcut.engines.live.messages import (
    Alike,
    Applied,
    Arrived,
    Bye,
    Close,
    Free,
    FromController,
    FromWorker,
    Go,
    Hello,
    Limit,
    Meet,
    New,
    Over,
)
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import Rule, WaitAll
from tailcut.table import Table

ALIKE = Alike("2.13.0", "AVX2", "SGD(lr=0.1)", "abc123", "clip_norm=None")
ARRIVES, TICKS, APPLIES = range(3)


def hello(worker: int, workers: int = 3, **more: Any) -> Hello:
    """Return the first message of a worker."""
    said = Hello(0, 0, worker, workers, "here", 100 + worker, -1, f"tcp://here:{worker}", 0, b"", ALIKE)
    return msgspec.structs.replace(said, **more)


def arrived(worker: int, version: int = 0, seconds: float = 1.0, **more: Any) -> Arrived:
    """Return the message of a worker that calls `step()`."""
    return msgspec.structs.replace(Arrived(1, 1, worker, version, 8, 1.0, seconds, True), **more)


def applied(worker: int, version: int, **more: Any) -> Applied:
    """Return the message of a worker that has made an update."""
    return msgspec.structs.replace(Applied(1, 1, worker, version, b"chain%d" % version), **more)


def bye(worker: int, version: int = 0, **more: Any) -> Bye:
    """Return the message of a worker that leaves."""
    return msgspec.structs.replace(Bye(1, 1, worker, version), **more)


def begun(hub: Hub, workers: int = 3, now: float = 0.0) -> Answers:
    """Send Hello for all workers, and return the answers to the last one."""
    answers = [hub.handle(hello(worker, workers), now) for worker in range(workers)]
    assert not any(answers[:-1])
    return answers[-1]


def hub(rule: Rule[Any, Any] | None = None, workers: int = 3, late_finish: bool = True, **more: Any) -> Hub:
    """Return a hub whose run has begun."""
    rounds = Rounds(Policy(NoForecast(), WaitAll() if rule is None else rule), late_finish=late_finish)
    it = Hub(rounds, workers, **more)
    begun(it, workers)
    it.think()
    return it


def close(
    version: int, *accepted: int, scale: float = 1.0, abandon: tuple[int, ...] = (), needed: int = 0
) -> Close:
    """Return the message that closes a round."""
    return Close(1, 1, version, accepted, scale, abandon, needed)


def go(version: int, deadline: float | None = None, late: float = 0.0) -> Go:
    """Return the message that lets a worker take part again."""
    return Go(1, 1, version, deadline, late)


FREE = Free(1, 1)


def exactly(value: Any) -> Any:
    """Convert a value to numbers and bytes, so that equality means equality to the last bit."""
    if is_dataclass(value):
        return type(value), tuple(exactly(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, list | tuple):
        return tuple(exactly(each) for each in value)
    return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else repr(value)


@dataclass
class Fleet:
    """Workers that take their run times from a table, round t from row t, and do what they are told.

    Attributes:
        hub: the hub that the workers talk to.
        table: run times in seconds.
        overhead: seconds from a close until the accepted workers have made the update.
        micro: micro-batches per gradient; a worker with a limit may stop after any of them.
        thinks: whether `hub.think()` is called after every message.
        every: versions from one meeting of all workers to the next; None for no meetings.
    """

    hub: Hub
    table: Table
    overhead: float = 0.0
    micro: int = 1
    thinks: bool = True
    every: int | None = None
    now: float = 0.0
    sent: list[tuple[int, FromController]] = field(default_factory=list)
    _queue: list[tuple[float, int, int, Callable[[], None]]] = field(default_factory=list)
    _version: dict[int, int] = field(default_factory=dict)
    _job: dict[int, int] = field(default_factory=dict)
    _in_step: set[int] = field(default_factory=set)
    _limits: dict[int, Limit] = field(default_factory=dict)
    _number: int = 0
    _wakes: float | None = None

    def run(self, rounds: int) -> None:
        """Play until the hub has made `rounds` updates or no event is left."""
        for worker in range(self.table.workers):
            self._say(hello(worker, self.table.workers, node=int(self.table.nodes[worker])))
        for worker in range(self.table.workers if self.every else 0):
            self._say(Meet(1, 1, worker, self.every or 1))
        while self._queue and self.hub.version < rounds:
            self.now, _, _, act = heapq.heappop(self._queue)
            act()
        self.hub.think()

    def _say(self, message: FromWorker) -> None:
        self._obey(self.hub.handle(message, self.now))
        if self.thinks:
            self._obey(self.hub.think())

    def _tick(self) -> None:
        self._obey(self.hub.tick(self.now))
        if self.thinks:
            self._obey(self.hub.think())

    def _push(self, now: float, kind: int, act: Callable[[], None]) -> int:
        self._number += 1
        heapq.heappush(self._queue, (now, kind, self._number, act))
        return self._number

    def _obey(self, answers: Answers) -> None:
        self.sent += answers
        for worker, message in answers:
            match message:
                case New():
                    self._compute(worker, message.base, None)
                case Go():
                    assert worker in self._in_step, "only who waits is sent for"
                    self._compute(worker, message.version, message.deadline)
                case Limit():
                    # Another worker may make the update first: the limit is then for the next version.
                    self._limits[worker] = message
                    if self._version[worker] == message.version:
                        self._compute(worker, message.version, None)
                case Close():
                    self._closed(worker, message)
                case Over():
                    self._version.pop(worker, None)
                case _:
                    raise AssertionError(message)
        if self.hub.wake_at not in (None, self._wakes):
            self._push(self.hub.wake_at, TICKS, self._tick)
        self._wakes = self.hub.wake_at

    def _closed(self, worker: int, close: Close) -> None:
        if worker in close.accepted:
            assert worker in self._in_step
            assert self._version[worker] == close.version, "all reduce gradients of one version"
            self._push(self.now + self.overhead, APPLIES, lambda: self._apply(worker, close.version + 1))
        elif worker in close.abandon:
            assert worker not in self._in_step
            self._in_step.add(worker)
            self._job.pop(worker)

    def _apply(self, worker: int, version: int) -> None:
        self._compute(worker, version, None)
        self._say(applied(worker, version))

    def _compute(self, worker: int, version: int, limit: float | None) -> None:
        self._in_step.discard(worker)
        self._version[worker] = version
        if version >= self.table.rounds:
            return
        told = self._limits.get(worker)
        if told is not None and told.version == version:
            limit = told.seconds
        seconds, share = float(self.table.seconds[version, worker]), 1.0
        if limit is not None and seconds > limit:
            seconds, share = limit, float(np.floor(self.micro * limit / seconds + 1e-9) / self.micro)
        message = arrived(worker, version, seconds, share=share, samples=round(8 * share))
        self._job[worker] = self._push(self.now + seconds, ARRIVES, lambda: self._arrive(message, job))
        job = self._job[worker]

    def _arrive(self, message: Arrived, job: int) -> None:
        if self._job.get(message.worker) == job:
            self._in_step.add(message.worker)
            self._say(message)
