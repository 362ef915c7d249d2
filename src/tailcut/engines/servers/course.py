"""The rounds of a run: events in, deeds for workers and shards out. Pure: no Ray, no clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias, final

from tailcut.engines.books import Books, InOrder
from tailcut.engines.servers.failures import ServersError
from tailcut.engines.servers.orders import Job
from tailcut.engines.tries import Tries
from tailcut.events import (
    Applied,
    CloseRound,
    Command,
    Event,
    Left,
    OpenRound,
    Settle,
    StartWork,
    WakeAt,
    arrivals_of,
)
from tailcut.policy import PolicyState
from tailcut.round import Rounds
from tailcut.types import RoundRecord, Seconds, WorkerId
from tailcut.work import Update, Work


@final
@dataclass(frozen=True, slots=True)
class Begin:
    """The instruction that a worker does a job."""

    job: Job


@final
@dataclass(frozen=True, slots=True)
class Drop:
    """The instruction that a worker drops its job of this version."""

    worker: WorkerId
    version: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class Make:
    """The instruction that the shards make an update."""

    update: Update


Deed: TypeAlias = Begin | Drop | Make


def _ignore(_: object) -> None:
    pass


@final
class Course:
    """All rounds of a run.

    Args:
        rounds: the state machine, with its policy.
        records: called with every closed round.
        settled: called with what became of gradients that were pending at a close.
        begun: number of mini-batches that each worker had begun before, where it counts its own.

    Attributes:
        wake_at: time, in the clock's seconds, at which a `Tick` is due; None for never.
    """

    def __init__(
        self,
        rounds: Rounds,
        records: Callable[[RoundRecord], None] = _ignore,
        settled: Callable[[Settle], None] = _ignore,
        begun: Mapping[WorkerId, int] = MappingProxyType({}),
    ) -> None:
        self.wake_at: Seconds | None = None
        self._rounds, self._records, self._settled = rounds, records, settled
        self._books = Books(InOrder())
        self._begun: Counter[WorkerId] = Counter(begun)
        self._opened: Seconds = 0.0
        self._tries = Tries()

    @property
    def now(self) -> Seconds:
        """The time of the last event, in seconds."""
        return self._rounds.now

    @property
    def overhead(self) -> Seconds:
        """The overhead of a round as measured so far, in seconds."""
        return self._rounds.overhead

    @property
    def learnt(self) -> PolicyState:
        """The state that the policy has learned."""
        return self._rounds.state

    @property
    def begun(self) -> dict[WorkerId, int]:
        """The number of mini-batches each worker has begun, where it counts its own; empty otherwise."""
        return dict(self._begun) if self.is_by_job else {}

    @property
    def is_by_job(self) -> bool:
        """Return whether a worker's mini-batches go by its own count instead of by rounds."""
        return self._rounds.acceptance.keeps_work or self._rounds.acceptance.refill

    def handle(self, event: Event) -> list[Deed]:
        """Handle an event and return the deeds that follow from it.

        Raises:
            ServersError: the net has diverged.
        """
        for arrival in arrivals_of(event):
            if arrival.finite:
                self._books.arrive(arrival.worker, arrival.version)
            else:
                # A gradient that is not finite is never added to an update.
                self._books.stop(arrival.worker)
        match event:
            case Left():
                self._books.stop(event.worker)
                # A round that is tried again because workers left says nothing about the net.
                self._tries = Tries()
            case Applied():
                self._opened = event.now
        return self._deeds(self._rounds.handle(event))

    def think(self) -> list[Deed]:
        """Let the policy learn and plan, once all other deeds are carried out."""
        return self._deeds(self._rounds.think())

    def _deeds(self, commands: Iterable[Command]) -> list[Deed]:
        deeds: list[Deed] = []
        for command in commands:
            match command:
                case OpenRound():
                    diverged = self._tries.opened(command.version)
                    if diverged is not None:
                        raise ServersError(diverged)
                    deeds += [self._begin(w, command.version, command.deadline) for w in command.workers]
                case StartWork():
                    deeds.append(self._begin(command.worker, command.version, command.deadline))
                case WakeAt():
                    self.wake_at = command.now
                case CloseRound():
                    self.wake_at = None
                    deeds += [Drop(worker, command.version) for worker in command.abandon]
                    deeds.append(Make(self._books.close(command, self._opened, self._rounds.now)))
                    self._records(command.record)
                case Settle():
                    self._books.settle(command)
                    self._settled(command)
        return deeds

    def _begin(self, worker: WorkerId, version: int, deadline: Seconds | None) -> Begin:
        # Number by version, so that a worker that computes a round twice gets the same mini-batch.
        number = self._begun[worker] if self.is_by_job else version
        self._begun[worker] += 1
        self._books.start(Work(worker, version, number))
        return Begin(Job(worker, version, number, deadline))
