"""The rounds of `round.py` on a virtual clock, run times from a table: a stream of updates."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from tailcut.acceptance import SYNCHRONOUS, Acceptance
from tailcut.engines.books import Books, InOrder, Jobs
from tailcut.engines.simulated.omniscient import SeesAll
from tailcut.errors import InputError
from tailcut.events import (
    Applied,
    Arrivals,
    Arrived,
    CloseRound,
    Command,
    Event,
    Joined,
    Left,
    OpenRound,
    Settle,
    StartWork,
    Tick,
    WakeAt,
    arrivals_of,
    merge_arrivals,
)
from tailcut.policy import Decider
from tailcut.round import Rounds
from tailcut.table import Table
from tailcut.timeline import Timeline
from tailcut.types import BoolArray, FloatArray, Measured, Seconds, WorkerId
from tailcut.work import Update, Work

Updates: TypeAlias = Generator[Update, Measured | None, None]
"""One item per closed round; answer each with what its gradients showed, or with None."""

# Order of events at the same instant: an arrival at the very moment of a wake-up is still in time.
_ARRIVAL, _DEPARTURE, _TICK, _OPENING = range(4)


def updates(
    table: Table | Timeline,
    policy: Decider,
    *,
    late_finish: bool = False,
    overhead: Seconds = 0.0,
    acceptance: Acceptance = SYNCHRONOUS,
    micro: int = 1,
    sees_all: bool = False,
    rounds: int | None = None,
    watch: Callable[[Event, list[Command]], None] | None = None,
    jobs: Jobs | None = None,
) -> Updates:
    """Run a policy against recorded or sampled run times, update by update.

    Round t takes row t of the table. A worker that is still busy with an older round when round t opens starts on
    it late, with its own entry of row t; if round t closes before that, its entry is skipped. Where gradients of
    older versions count, or several of a worker, a worker does not go by rounds: its k-th piece of work takes
    the k-th row it is present in. The run then ends when a worker has gone through the whole table; one that
    is absent from the last row leaves after its last entry. Arrivals with the same time to the last bit are
    of one instant and are delivered together. On a timeline the run time also depends on the moment at which
    the work begins, and the set of workers on the moment at which the round opens.

    Args:
        table: `(rounds, workers)` run times, or a timeline of them.
        policy: decides when to close.
        late_finish: whether late workers finish first (True) or abandon their work at the close.
        overhead: seconds between a close and the next opening.
        acceptance: which gradients count.
        micro: micro-batches per round; a worker stopped by its deadline delivers those it has finished.
        sees_all: whether the policy learns all run times after each round, those of cut workers too.
        rounds: number of rounds after which to stop; by default when the table is used up. Where every
            gradient makes an update, that may be many more updates than rows.
        watch: called with every event and the commands it caused, for tests and pictures.
        jobs: chooses the mini-batch of each piece of work; by default the one of its row.

    Raises:
        InputError: in some round no worker is left whose gradient ever arrives.
    """
    if jobs is not None:
        if isinstance(table, Timeline):
            raise ValueError("Mini-batches of a task are played on tables only.")
        # Run times follow the mini-batches, so they are written down as work begins.
        table = replace(table, seconds=table.seconds.copy())
    decider = SeesAll(policy, table) if sees_all else policy
    machine = Rounds(decider, acceptance, late_finish, overhead)
    sim = _Simulation(table, machine, overhead, micro, watch, jobs or InOrder())
    return sim.updates(rounds)


@dataclass(slots=True)
class _Simulation:
    table: Table | Timeline
    machine: Rounds
    overhead: Seconds
    micro: int
    watch: Callable[[Event, list[Command]], None] | None
    jobs: Jobs
    _books: Books = field(init=False)
    _queue: list[tuple[Seconds, int, int, Event]] = field(default_factory=list)
    _sequence: int = 0
    _rows: list[list[int]] = field(default_factory=list)
    _used_up: bool = False
    _members: set[WorkerId] = field(default_factory=set)
    _departures: dict[WorkerId, int] = field(default_factory=dict)
    _closed: list[Update] = field(default_factory=list)
    _opened: Seconds = 0.0
    _together: tuple[int, Seconds, FloatArray, BoolArray] = (
        -1,
        0.0,
        np.zeros(0),
        np.zeros(0, dtype=np.bool_),
    )

    def __post_init__(self) -> None:
        self._books = Books(self.jobs)

    def updates(self, most: int | None) -> Updates:
        rounds = self.table.rounds if most is None else min(most, self.table.rounds)
        if self._by_job:
            rounds = np.iinfo(np.int64).max if most is None else most
            self._rows = _rows_of(self.table)
        self._push(0.0, _OPENING, Applied(0.0, 0))
        done = 0
        while self._queue and done < rounds and not self._used_up:
            now, _, number, event = heapq.heappop(self._queue)
            if isinstance(event, Applied):
                self._opened = now
                self._enlist(now, event)
            if isinstance(event, Left):
                # The departure is void where the work that led to it was dropped in the meantime.
                if self._departures.get(event.worker) != number:
                    continue
                self._members.discard(event.worker)
            if isinstance(event, Arrived):
                event = self._with_ties(event)
            self._tell(event)
            while self._closed:
                update = self._closed.pop()
                done += 1
                measured = yield update
                opening = update.closed + self.overhead
                self._push(opening, _OPENING, Applied(opening, update.record.version + 1, measured))
        if done < rounds and not self._by_job:
            raise InputError(
                f"In round {done} of {self.table.source} nobody is left whose gradient ever comes: "
                "the run times are censored or absent. Leave that round out."
            )

    @property
    def _by_job(self) -> bool:
        """Return whether a worker's work goes by its own count instead of by rounds."""
        return self.machine.acceptance.keeps_work or self.machine.acceptance.refill

    def _push(self, now: Seconds, kind: int, event: Event) -> int:
        number = self._sequence
        heapq.heappush(self._queue, (now, kind, number, event))
        self._sequence += 1
        return number

    def _with_ties(self, first: Arrived) -> Arrived | Arrivals:
        """Return the first arrival of an instant with all others of that instant, which leave the queue."""
        tied = [first]
        while self._queue and self._queue[0][:2] == (first.now, _ARRIVAL):
            event = heapq.heappop(self._queue)[3]
            assert isinstance(event, Arrived)
            tied.append(event)
        return merge_arrivals(tied)

    def _tell(self, event: Event) -> None:
        for arrival in arrivals_of(event):
            self._books.arrive(arrival.worker, arrival.version)
        if isinstance(event, Left):
            self._books.stop(event.worker)
        # `think` takes no virtual time: its commands are carried out with those of `handle`.
        commands = [*self.machine.handle(event), *self.machine.think()]
        if self.watch is not None:
            self.watch(event, commands)
        for command in commands:
            match command:
                case OpenRound():
                    for worker in command.workers:
                        self._work(worker, command.version, command.deadline)
                case StartWork():
                    self._work(command.worker, command.version, command.deadline)
                case WakeAt():
                    self._push(command.now, _TICK, Tick(command.now))
                case CloseRound():
                    for worker in command.abandon:
                        self._departures.pop(worker, None)
                    self._closed.append(self._books.close(command, self._opened, self.machine.now))
                case Settle():
                    self._books.settle(command)

    def _enlist(self, now: Seconds, event: Applied) -> None:
        """Let workers join and leave as the table says before a round opens."""
        row = 0 if self._by_job else event.version
        there = set(np.flatnonzero(self.table.present(row, np.array([now]))).tolist())
        if self._by_job:
            there = there if isinstance(self.table, Timeline) else set(range(self.table.workers))
            wanted = self._members | {worker for worker in there if self._rows[worker]}
        else:
            wanted = there
        changes: Iterable[Event] = [
            *(Left(now, worker) for worker in sorted(self._members - wanted)),
            *(
                Joined(now, worker, int(self.table.nodes[worker]))
                for worker in sorted(wanted - self._members)
            ),
        ]
        for change in changes:
            self._tell(change)
        self._members = wanted

    def _row(self, worker: WorkerId, version: int) -> int | None:
        """Return the row with the run time of a worker's next work; None if it has no more."""
        if not self._by_job:
            return version
        return self._rows[worker].pop() if self._rows[worker] else None

    def _work(self, worker: WorkerId, version: int, deadline: Seconds | None) -> None:
        """Start a worker's next work, and queue the event that will end it."""
        self._departures.pop(worker, None)
        now, row = self.machine.now, self._row(worker, version)
        if row is None:
            if self.table.ends_absent(worker):
                self._departures[worker] = self._push(now, _DEPARTURE, Left(now, worker))
            else:
                self._used_up = True
            return
        seconds, is_observed = self._run_time(row, worker, now)
        if np.isnan(seconds):
            # The worker becomes free at a time when it is absent: it leaves.
            self._departures[worker] = self._push(now, _DEPARTURE, Left(now, worker))
            if self._by_job:
                self._rows[worker].append(row)
            return
        mini_batch, length = self.jobs.begin(worker, row)
        self._books.start(Work(worker, version, mini_batch))
        if length != 1.0:
            assert isinstance(self.table, Table)
            seconds *= length
            self.table.seconds[row, worker] = seconds
        if not is_observed:
            self._departures[worker] = self._push(now + seconds, _DEPARTURE, Left(now + seconds, worker))
        elif deadline is not None and seconds > deadline:
            # A micro-batch that ends at the very deadline is in, however the division rounds.
            share = np.floor(self.micro * deadline / seconds + 1e-9) / self.micro
            self._push(now + deadline, _ARRIVAL, Arrived(now + deadline, worker, version, deadline, share))
        else:
            self._push(now + seconds, _ARRIVAL, Arrived(now + seconds, worker, version, seconds))

    def _run_time(self, row: int, worker: WorkerId, now: Seconds) -> tuple[Seconds, bool]:
        """Return how long the work takes, and whether it ends; workers that begin together are looked up at once."""
        if isinstance(self.table, Table) or self._by_job or now != self._opened:
            return self.table.run_time(row, worker, now)
        if self._together[:2] != (row, now):
            self._together = (row, now, *self.table.at(row, now))
        return float(self._together[2][worker]), bool(self._together[3][worker])


def _rows_of(table: Table | Timeline) -> list[list[int]]:
    """Return the rows of each worker, the first one last."""
    if isinstance(table, Timeline):
        return [list(range(table.rounds))[::-1] for _ in range(table.workers)]
    return [np.flatnonzero(~np.isnan(column))[::-1].tolist() for column in table.seconds.T]
