"""The simulated engine, timing only: the rounds of `round.py` on a virtual clock, run times from a table."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from tailcut.acceptance import SYNCHRONOUS, Acceptance
from tailcut.engines.simulated.omniscient import SeesAll
from tailcut.engines.simulated.run import Run
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
from tailcut.types import Fate, RoundRecord, Seconds, WorkerId

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
    older versions count, rounds mean nothing to a worker: its k-th piece of work takes row k.

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
    _jobs: dict[WorkerId, int] = field(default_factory=dict)
    _members: set[WorkerId] = field(default_factory=set)
    _cancelled: set[tuple[WorkerId, int]] = field(default_factory=set)
    _records: list[RoundRecord] = field(default_factory=list)
    _lost: int = 0

    def run(self, rounds: int) -> Run:
        self._push(0.0, _OPENING, Applied(0.0, 0))
        while self._queue and len(self._records) < rounds:
            now, kind, _, event = heapq.heappop(self._queue)
            if kind == _OPENING and not self._enlist(now, event):
                break
            if kind == _DEPARTURE:
                self._members.discard(event.worker)  # type: ignore[union-attr]
            self._obey(event, self.machine.handle(event))
        return _as_run(self._records, self.table, self.overhead)

    def _push(self, now: Seconds, kind: int, event: Event) -> None:
        heapq.heappush(self._queue, (now, kind, self._sequence, event))
        self._sequence += 1

    def _obey(self, event: Event, commands: list[Command]) -> None:
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
                    opening = self.machine.now + self.overhead
                    self._push(opening, _OPENING, Applied(opening, command.version + 1))
                case Settle():
                    pass

    def _enlist(self, now: Seconds, event: Event) -> bool:
        """Let workers join and leave as the table says before a round opens; False at the table's end."""
        assert isinstance(event, Applied)
        if event.version >= self.table.rounds:
            return False
        present = ~np.isnan(self.table.seconds[event.version])
        if self.machine.acceptance.keeps_work:
            present = ~np.isnan(self.table.seconds).all(axis=0)
        wanted = set(np.flatnonzero(present).tolist())
        changes: Iterable[Event] = [
            *(Left(now, worker) for worker in sorted(self._members - wanted)),
            *(Joined(now, worker, int(self.table.nodes[worker])) for worker in sorted(wanted - self._members)),
        ]
        for change in changes:
            self._obey(change, self.machine.handle(change))
        self._members = wanted
        return True

    def _work(self, worker: WorkerId, version: int, deadline: Seconds | None) -> None:
        """Queue how the work a worker starts now will end."""
        row = version
        if self.machine.acceptance.keeps_work or self.machine.acceptance.refill:
            row = self._jobs.get(worker, 0)
            self._jobs[worker] = row + 1
        if row >= self.table.rounds:
            return
        now, seconds = self.machine.now, float(self.table.seconds[row, worker])
        if not self.table.observed[row, worker]:
            self._push(now + seconds, _DEPARTURE, Left(now + seconds, worker))
        elif deadline is not None and seconds > deadline:
            share = np.floor(self.micro * deadline / seconds) / self.micro
            self._push(now + deadline, _ARRIVAL, Arrived(now + deadline, worker, version, deadline, share))
        else:
            self._push(now + seconds, _ARRIVAL, Arrived(now + seconds, worker, version, seconds))


def _as_run(records: list[RoundRecord], table: Table, overhead: Seconds) -> Run:
    rounds = len(records)
    accepted = np.zeros((rounds, table.workers), dtype=np.bool_)
    idle = np.zeros(rounds)
    for t, record in enumerate(records):
        accepted[t, record.roster.workers[record.accepted > 0]] = True
        idle[t] = record_idle(record)
    return Run(
        elapsed=np.array([r.elapsed for r in records]),
        counts=np.array([r.count for r in records], dtype=np.int64),
        values=np.array([r.value for r in records]),
        accepted=accepted,
        idle=idle,
        present=np.array([len(r.roster) for r in records], dtype=np.int64),
        overhead=overhead,
        staleness=np.concatenate([r.staleness for r in records]) if records else np.empty(0, dtype=np.int64),
    )


def record_idle(record: RoundRecord) -> Seconds:
    """Seconds that the workers of a closed round waited for its close, added up."""
    done = (record.fates == Fate.USED) | (record.fates == Fate.REJECTED)
    waited = record.elapsed - record.arrivals[done]
    return float(np.maximum(waited, 0.0).sum())
