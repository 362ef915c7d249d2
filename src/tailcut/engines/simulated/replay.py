"""The simulated engine, timing only: the rounds of `round.py` on a virtual clock, run times from a table."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from tailcut.acceptance import SYNCHRONOUS, Acceptance
from tailcut.engines.simulated.omniscient import SeesAll
from tailcut.engines.simulated.run import Run
from tailcut.errors import InputError
from tailcut.events import (
    Applied,
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
)
from tailcut.policy import Decider
from tailcut.round import Rounds
from tailcut.table import Table
from tailcut.types import FloatArray, RoundRecord, Seconds, WorkerId

# Order of events at one and the same instant: who arrives at the very moment of a wake-up is still in time.
_ARRIVAL, _DEPARTURE, _TICK, _OPENING = range(4)


def replay(
    table: Table,
    policy: Decider,
    *,
    late_finish: bool = False,
    overhead: Seconds = 0.0,
    acceptance: Acceptance = SYNCHRONOUS,
    micro: int = 1,
    sees_all: bool = False,
    rounds: int | None = None,
    watch: Callable[[Event, list[Command]], None] | None = None,
) -> Run:
    """Run a policy against recorded or sampled run times.

    Round t takes row t of the table. A worker that is still busy with an older round when round t opens starts on
    it late, with its own entry of row t; if round t closes before that, its entry is skipped. Where gradients of
    older versions count, or several of a worker, rounds mean nothing to a worker: its k-th piece of work takes the
    k-th row it is present in. The run then ends when a worker has gone through the whole table; one that is
    absent from the last row leaves after its last entry.

    Args:
        table: `(rounds, workers)` run times.
        policy: decides when to close.
        late_finish: whether late workers finish first (True) or abandon their work at the close.
        overhead: seconds between a close and the next opening.
        acceptance: which gradients count.
        micro: micro-batches per round; a worker stopped by its deadline delivers those it has finished.
        sees_all: give the policy all run times after each round, those of cut workers too.
        rounds: stop after that many; by default when the table is used up.
        watch: called with every event and the commands it caused, for tests and pictures.

    Returns:
        One row per closed round.

    Raises:
        InputError: in some round nobody is left whose gradient ever comes.
    """
    decider = SeesAll(policy, table) if sees_all else policy
    sim = _Simulation(table, Rounds(decider, acceptance, late_finish, overhead), overhead, micro, watch)
    return sim.run(table.rounds if rounds is None else min(rounds, table.rounds))


@dataclass(slots=True)
class _Simulation:
    table: Table
    machine: Rounds
    overhead: Seconds
    micro: int
    watch: Callable[[Event, list[Command]], None] | None
    _queue: list[tuple[Seconds, int, int, Event]] = field(default_factory=list)
    _sequence: int = 0
    _rows: list[list[int]] = field(default_factory=list)
    _used_up: bool = False
    _members: set[WorkerId] = field(default_factory=set)
    _departures: dict[WorkerId, int] = field(default_factory=dict)
    _records: list[RoundRecord] = field(default_factory=list)
    _openings: list[Seconds] = field(default_factory=list)

    def run(self, rounds: int) -> Run:
        if self._by_job:
            # Each worker's rows, the first one last.
            self._rows = [np.flatnonzero(~np.isnan(column))[::-1].tolist() for column in self.table.seconds.T]
        self._push(0.0, _OPENING, Applied(0.0, 0))
        while self._queue and len(self._records) < rounds and not self._used_up:
            now, _, number, event = heapq.heappop(self._queue)
            if isinstance(event, Applied):
                self._openings.append(now)
                self._enlist(now, event)
            if isinstance(event, Left):
                # Work that was dropped in the meantime no longer takes its worker along.
                if self._departures.get(event.worker) != number:
                    continue
                self._members.discard(event.worker)
            self._tell(event)
        if len(self._records) < rounds and not self._by_job:
            raise InputError(
                f"In round {len(self._records)} of {self.table.source} nobody is left whose gradient ever comes: "
                "the run times are censored or absent. Leave that round out."
            )
        run = _as_run(self._records, self.table, self.overhead, self.machine.acceptance.refill)
        # A round that had to be tried again has lasted since it was first open.
        first, last = self._openings[: run.rounds], [record.opened for record in self._records]
        return replace(run, elapsed=run.elapsed + np.subtract(last, first))

    @property
    def _by_job(self) -> bool:
        """Whether a worker's work goes by its own count instead of by rounds."""
        return self.machine.acceptance.keeps_work or self.machine.acceptance.refill

    def _push(self, now: Seconds, kind: int, event: Event) -> int:
        number = self._sequence
        heapq.heappush(self._queue, (now, kind, number, event))
        self._sequence += 1
        return number

    def _tell(self, event: Event) -> None:
        # Thinking takes no virtual time; what it says is as if it had been said with the rest.
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
                    self._records.append(command.record)
                    for worker in command.abandon:
                        self._departures.pop(worker, None)
                    opening = self.machine.now + self.overhead
                    self._push(opening, _OPENING, Applied(opening, command.version + 1))
                case Settle():
                    pass

    def _enlist(self, now: Seconds, event: Applied) -> None:
        """Let workers join and leave as the table says before a round opens."""
        if self._by_job:
            wanted = self._members | {worker for worker, rows in enumerate(self._rows) if rows}
        else:
            wanted = set(np.flatnonzero(~np.isnan(self.table.seconds[event.version])).tolist())
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
        """The row that says how long the work a worker starts now takes; None if it has no more."""
        if not self._by_job:
            return version
        return self._rows[worker].pop() if self._rows[worker] else None

    def _work(self, worker: WorkerId, version: int, deadline: Seconds | None) -> None:
        """Queue how the work a worker starts now will end."""
        self._departures.pop(worker, None)
        now, row = self.machine.now, self._row(worker, version)
        if row is None:
            if np.isnan(self.table.seconds[-1, worker]):
                self._departures[worker] = self._push(now, _DEPARTURE, Left(now, worker))
            else:
                self._used_up = True
            return
        seconds = float(self.table.seconds[row, worker])
        if not self.table.observed[row, worker]:
            self._departures[worker] = self._push(now + seconds, _DEPARTURE, Left(now + seconds, worker))
        elif deadline is not None and seconds > deadline:
            # A micro-batch that ends at the very deadline is in, however the division rounds.
            share = np.floor(self.micro * deadline / seconds + 1e-9) / self.micro
            self._push(now + deadline, _ARRIVAL, Arrived(now + deadline, worker, version, deadline, share))
        else:
            self._push(now + seconds, _ARRIVAL, Arrived(now + seconds, worker, version, seconds))


def _as_run(records: list[RoundRecord], table: Table, overhead: Seconds, refill: bool) -> Run:
    rounds = len(records)
    accepted = np.zeros((rounds, table.workers), dtype=np.bool_)
    idle = np.zeros(rounds)
    for t, record in enumerate(records):
        accepted[t, record.roster.workers[record.accepted > 0]] = True
        # Who starts on another mini-batch at once waits for nobody.
        idle[t] = 0.0 if refill else record_idle(record)
    return Run(
        elapsed=np.array([r.elapsed for r in records]),
        counts=np.array([r.count for r in records], dtype=np.int64),
        values=np.array([r.value for r in records]),
        accepted=accepted,
        idle=idle,
        present=np.array([len(r.roster) for r in records], dtype=np.int64),
        overhead=overhead,
        staleness=np.concatenate([r.staleness for r in records]) if records else np.empty(0, dtype=np.int64),
        weights=_weights(records),
    )


def _weights(records: list[RoundRecord]) -> dict[str, FloatArray]:
    """`(rounds,)` each: how much the parts of the forecasts counted; NaN in rounds without a forecast."""
    by_round = [dict(record.weights) for record in records]
    names = dict.fromkeys(name for weights in by_round for name in weights)
    return {name: np.array([weights.get(name, np.nan) for weights in by_round]) for name in names}


def record_idle(record: RoundRecord) -> Seconds:
    """Seconds that the workers of a closed round waited for its close, added up."""
    waited = record.elapsed - record.arrivals[np.isfinite(record.arrivals)]
    return float(np.maximum(waited, 0.0).sum())
