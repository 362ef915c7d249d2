"""A world of workers that may die at any moment, around a real hub; without nets, sockets or clocks.

Workers follow the protocol as the design says it, not the engine's code. A reduction ends at one worker after the
other: between the first and the last of them anybody may die. Messages keep their order on each way, and may come at
any time; a death is noticed at any time after it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from hub_scripts import hello

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.orders import SENDER, Answers
from tailcut.engines.live.controller.places import NOTHING
from tailcut.engines.live.messages import (
    Again,
    Applied,
    Arrived,
    Close,
    FromController,
    FromWorker,
    Go,
    Hello,
    New,
    Refused,
    State,
    Stop,
)

Entry = tuple[int, int, tuple[int, ...]]
"""One update of a log: epoch, version, accepted."""


@dataclass
class Reduction:
    """One attempt to make an update.

    Attributes:
        close: the `Close` that it carries out.
        joined: workers that have contributed.
        left: workers that have left it, completed or not.
    """

    close: Close
    joined: set[int] = field(default_factory=set)
    left: set[int] = field(default_factory=set)


@dataclass
class Worker:
    """One worker.

    Attributes:
        log: updates that it has applied.
        in_step: whether it waits in `step()` with a gradient of its version.
        inside: the reduction that it is in.
        goes_to: version that it pulls up to; None where it does not.
        copies: the epoch that it joins by copying a state; None where it does not.
        members: members of its epoch, from which it pulls.
        joiners: joiners of its epoch, from which it does not pull.
        out: whether it was refused.
        asks: whether it has sent Hello again, and ignores messages of its epoch or an older one.
    """

    number: int
    alive: bool = True
    out: bool = False
    epoch: int = 0
    log: list[Entry] = field(default_factory=list)
    in_step: bool = False
    inside: Reduction | None = None
    goes_to: int | None = None
    copies: New | None = None
    members: tuple[int, ...] = ()
    joiners: tuple[int, ...] = ()
    asks: bool = False
    process: int = 0
    inbox: deque[FromController] = field(default_factory=deque)
    outbox: deque[FromWorker] = field(default_factory=deque)

    @property
    def version(self) -> int:
        return len(self.log)

    @property
    def chain(self) -> bytes:
        return repr(self.log).encode()


class World:
    """A hub and its workers.

    Args:
        hub: a hub whose run has not begun.
        workers: number of workers.
    """

    def __init__(self, hub: Hub, workers: int) -> None:
        self.hub, self.now = hub, 0.0
        self.workers = [Worker(number) for number in range(workers)]
        self._reductions: dict[tuple[int, int], Reduction] = {}
        self._unnoticed: list[int] = []
        self._processes = 1000
        for number in range(workers):
            self._send(self.hub.handle(hello(number, workers), 0.0))

    # -- what can happen ----------------------------------------------------------------------------------------

    def possible(self, deaths: bool) -> Iterator[tuple[str, int]]:
        """Yield every event that can happen next; none when the run is over."""
        if self.hub.over:
            return
        for worker in self.workers:
            if worker.outbox:
                yield "hear", worker.number
            if worker.number in self.hub.places.lost and (worker.out or not worker.alive):
                yield "restart", worker.number
            if not worker.alive or worker.out:
                continue
            yield from ((what, worker.number) for what in self._of(worker))
            if deaths and any(self._has_state(other) for other in self.workers if other is not worker):
                yield "kill", worker.number
                if worker.epoch > 0 and not worker.asks and worker.number in self.hub.places.there:
                    yield "cut", worker.number
        # The hub reads a worker's Hello before it notices the end of that worker.
        for number in self._unnoticed:
            if not any(isinstance(message, Hello) for message in self.workers[number].outbox):
                yield "notice", number
        if self.hub.wake_at is not None:
            yield "tick", -1

    def _of(self, worker: Worker) -> Iterator[str]:
        if worker.epoch == 0:
            return
        if worker.asks:
            if worker.inbox:
                yield "read"
        elif worker.copies is not None:
            holder = self.workers[worker.copies.holder]
            if holder.alive and not holder.out and holder.epoch == worker.copies.epoch:
                yield "copy"
            elif self._is_called(worker):
                yield "read"
        elif not worker.in_step:
            yield "arrive"
        elif worker.inside is not None:
            accepted = set(worker.inside.close.accepted)
            if worker.inside.joined == accepted:
                yield "complete"
            epoch = worker.inside.close.epoch
            if any(self._is_gone(self.workers[other], epoch) for other in accepted) or worker.inside.left:
                yield "fail"
        elif worker.goes_to is not None and self._holder(worker) is not None:
            yield "pull"
        elif worker.inbox and (worker.goes_to is None or self._is_called(worker)):
            yield "read"

    def _is_gone(self, worker: Worker, epoch: int) -> bool:
        """Return whether the process that was in this epoch has ended; its place may have a new process."""
        return not worker.alive or worker.epoch > epoch or (worker.process > 0 and worker.epoch == 0)

    def do(self, what: str, number: int) -> None:
        """Carry out one event."""
        self.now += 0.001
        match what:
            case "tick":
                assert self.hub.wake_at is not None
                self.now = max(self.now, self.hub.wake_at)
                self._send(self.hub.tick(self.now))
            case "notice":
                self._unnoticed.remove(number)
                self._send(self.hub.lost(number, self.now))
            case "hear":
                self._send(self.hub.handle(self.workers[number].outbox.popleft(), self.now), number)
            case _:
                getattr(self, f"_{what}")(self.workers[number])
        self._send(self.hub.think())

    # -- what workers do ----------------------------------------------------------------------------------------

    def _kill(self, worker: Worker) -> None:
        worker.alive = False
        worker.inbox.clear()
        self._unnoticed.append(worker.number)

    def _restart(self, worker: Worker) -> None:
        self._processes += 1
        again = self.workers[worker.number] = Worker(worker.number, process=self._processes)
        self._greet(again)

    def _greet(self, worker: Worker) -> None:
        """Say Hello as one that was in no epoch yet."""
        who = {} if worker.process == 0 else {"process": worker.process}
        worker.outbox.append(hello(worker.number, len(self.workers), **who))

    def _cut(self, worker: Worker) -> None:
        """Break the worker's connection, and let it reconnect at once after the hub has given it up."""
        self._send(self.hub.lost(worker.number, self.now))
        self._ask(worker)

    def _ask(self, worker: Worker) -> None:
        """Say Hello again. That is a promise: whatever it was in does not complete there any more."""
        if worker.inside is not None:
            worker.inside.left.add(worker.number)
        worker.asks, worker.inside, worker.goes_to, worker.copies = True, None, None, None
        who = {} if worker.process == 0 else {"process": worker.process}
        told = {"term": 1, "epoch": worker.epoch, "version": worker.version, "chain": worker.chain, **who}
        worker.outbox.append(hello(worker.number, len(self.workers), **told))

    def _copy(self, worker: Worker) -> None:
        assert worker.copies is not None
        worker.log = self.workers[worker.copies.holder].log[: worker.copies.base]
        worker.copies = None
        worker.outbox.append(Applied(1, worker.epoch, worker.number, worker.version, worker.chain))

    def _arrive(self, worker: Worker) -> None:
        worker.in_step = True
        self._say_arrived(worker)

    def _say_arrived(self, worker: Worker) -> None:
        worker.outbox.append(Arrived(1, worker.epoch, worker.number, worker.version, 8, 1.0, 1.0, True))

    def _read(self, worker: Worker) -> None:
        message = worker.inbox.popleft()
        match message:
            case New() if worker.asks:
                if message.epoch > worker.epoch:
                    worker.asks = False
                    self._enter(worker, message)
            case Refused():
                worker.out = True
            case Again() if worker.asks and message.epoch > worker.epoch:
                # All are asked once more; what was said before may be of another epoch.
                self._ask(worker)
            case _ if worker.asks:
                pass
            case Again() if message.epoch >= worker.epoch:
                self._ask(worker)
            case Stop():
                worker.goes_to = None
                self._say_state(worker)
            case New():
                self._enter(worker, message)
            case Close() if message.version == worker.version and worker.number in message.accepted:
                key = (message.epoch, message.version)
                worker.inside = self._reductions.setdefault(key, Reduction(message))
                worker.inside.joined.add(worker.number)
            case Go():
                self._go_to(worker, message.version)

    def _say_state(self, worker: Worker) -> None:
        worker.outbox.append(State(1, worker.epoch, worker.number, worker.version, worker.chain))

    def _enter(self, worker: Worker, new: New) -> None:
        worker.epoch, worker.goes_to = new.epoch, None
        worker.members, worker.joiners = new.members, new.joiners
        worker.copies = new if worker.number in new.joiners else None
        if worker.copies is not None:
            # The worker may have copied a state before, of which the hub does not know.
            worker.log, worker.in_step = [], False
        elif worker.version < new.base:
            self._go_to(worker, new.base)
        elif worker.in_step:
            assert worker.version == new.base, "nobody has more than the base"
            self._say_arrived(worker)

    def _go_to(self, worker: Worker, version: int) -> None:
        if worker.version < version:
            worker.goes_to = version
        else:
            worker.in_step = False

    def _pull(self, worker: Worker) -> None:
        holder, goes_to = self._holder(worker), worker.goes_to
        assert holder is not None
        assert goes_to is not None
        worker.log = holder.log[:goes_to]
        worker.goes_to, worker.in_step = None, False

    def _complete(self, worker: Worker) -> None:
        assert worker.inside is not None
        close = worker.inside.close
        worker.inside.left.add(worker.number)
        worker.inside, worker.in_step = None, False
        worker.log = [*worker.log, (close.epoch, close.version, close.accepted)]
        worker.outbox.append(Applied(1, worker.epoch, worker.number, worker.version, worker.chain))

    def _fail(self, worker: Worker) -> None:
        assert worker.inside is not None
        worker.inside.left.add(worker.number)
        worker.inside = None
        self._say_state(worker)

    # -- small things -------------------------------------------------------------------------------------------

    def _has_state(self, worker: Worker) -> bool:
        is_in = worker.alive and not worker.out and worker.epoch > 0 and worker.copies is None
        return is_in and not worker.asks and worker.number in self.hub.places.there

    def _is_called(self, worker: Worker) -> bool:
        return any(isinstance(message, New | Stop | Again | Refused) for message in worker.inbox)

    def _holder(self, worker: Worker) -> Worker | None:
        wanted = worker.goes_to or 0
        others = (other for other in worker.members if other != worker.number)
        members = (self.workers[other] for other in others if other not in worker.joiners)
        holders = (other for other in members if other.alive and other.version >= wanted)
        # Holders with another history are skipped.
        return next((one for one in holders if one.log[: worker.version] == worker.log), None)

    @property
    def members(self) -> list[Worker]:
        """The members of the run as the hub sees them, without joiners, whose state may differ."""
        there = (self.workers[number] for number in self.hub.places.there)
        return [
            one
            for one in there
            if one.alive
            and not one.asks
            and one.copies is None
            and self.hub.places[one.number].has != NOTHING
        ]

    def _send(self, answers: Answers, sender: int = SENDER) -> None:
        for to, message in answers:
            worker = self.workers[sender if to == SENDER else to]
            if worker.alive:
                worker.inbox.append(message)
                if worker.epoch == 0 and isinstance(message, New):
                    worker.inbox.clear()
                    self._enter(worker, message)
                elif worker.epoch == 0 and isinstance(message, Again):
                    self._greet(worker)
