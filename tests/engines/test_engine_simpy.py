"""The simulated engine against a SimPy model of the same cluster, event by event."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import simpy

from tailcut.acceptance import ASYNCHRONOUS, BATCH_SYNCHRONOUS, STALE_SYNCHRONOUS, SYNCHRONOUS, Acceptance
from tailcut.engines.simulated import replay
from tailcut.events import CloseRound, Command, Event, arrivals_of
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.rules import Backup
from tailcut.table import Table
from tailcut.types import FloatArray

Closed = tuple[float, list[tuple[float, int]]]
"""The seconds at which a round closed, and the arrival time and worker of each gradient that it used."""


@dataclass(frozen=True)
class Mode:
    """The treatment of late work: stopped, discarded, or used later; and which workers go on at once."""

    stops: bool = False
    stale: bool = False
    again: bool = False

    @property
    def by_job(self) -> bool:
        return self.stale or self.again


@dataclass
class Cluster:
    """A parameter server and one process per worker, each with an inbox for parameters."""

    times: FloatArray
    cutoff: int
    overhead: float
    mode: Mode
    closed: list[Closed] = field(default_factory=list)

    def run(self, rounds: int) -> list[Closed]:
        self.env = simpy.Environment()
        n = self.times.shape[1]
        self.inbox = [simpy.Store(self.env) for _ in range(n)]
        self.working_on: list[int | None] = [None] * n
        self.jobs = [0] * n
        self.workers = [self.env.process(self.worker(i)) for i in range(n)]
        self.finished = self.env.event()
        self.waiting: list[tuple[float, int, int]] = []
        self.instant: list[tuple[float, int, int]] = []
        self.version, self.rounds = -1, rounds
        self.env.process(self.publish(0.0))
        self.env.run(until=self.finished)
        return self.closed

    def worker(self, i: int) -> Generator[Any, Any, None]:
        while True:
            try:
                version, seconds = yield self.inbox[i].get()
                yield self.env.timeout(seconds)
            except simpy.Interrupt:
                continue
            self.working_on[i] = None
            self.instant.append((self.env.now, i, version))
            if self.mode.stale and self.mode.again:
                self.receive()
            elif len(self.instant) == 1:
                self.env.process(self.wait_for_ties())

    def wait_for_ties(self) -> Generator[Any, Any, None]:
        """Wait for other arrivals of this instant: they come before the end of a timeout that begins now."""
        yield self.env.timeout(0.0)
        self.receive()

    def send(self, i: int) -> None:
        row = self.jobs[i] if self.mode.by_job else self.version
        self.jobs[i] += 1
        self.working_on[i] = self.version
        self.inbox[i].put((self.version, self.times[row, i]))

    def publish(self, after: float) -> Generator[Any, Any, None]:
        """Open a round: earlier arrivals count where the mode allows it, and every free worker begins."""
        yield self.env.timeout(after)
        # Arrivals at this very instant come before the opening.
        yield self.env.timeout(0.0)
        self.version += 1
        self.open, self.used = True, []
        early, self.waiting = self.waiting, []
        for when, i, version in early:
            self.count(when, i, version)
        for i, busy in enumerate(self.working_on):
            if busy is None and (self.mode.again or i not in [who for _, who in self.used]):
                self.send(i)
        self.close_if_enough()

    def receive(self) -> None:
        """Take all that arrived at this instant, by lowest id, then close or go on."""
        came, self.instant = sorted(self.instant), []
        if not self.open:
            self.waiting += came
            return
        for when, i, version in came:
            self.count(when, i, version)
        self.close_if_enough()
        for _, i, _ in came:
            if self.open and (self.mode.again or i not in [who for _, who in self.used]):
                self.send(i)

    def count(self, when: float, i: int, version: int) -> None:
        if version == self.version or self.mode.stale:
            self.used.append((when, i))

    def close_if_enough(self) -> None:
        if len(self.used) < self.cutoff:
            return
        self.open = False
        self.closed.append((self.env.now, self.used))
        if self.mode.stops:
            for i, busy in enumerate(self.working_on):
                if busy == self.version:
                    self.workers[i].interrupt()
                    self.working_on[i] = None
        if len(self.closed) == self.rounds:
            self.finished.succeed()
        else:
            self.env.process(self.publish(self.overhead))


def replayed(
    times: FloatArray, cutoff: int, overhead: float, acceptance: Acceptance, late_finish: bool, rounds: int
) -> list[Closed]:
    closed: list[Closed] = []
    last: dict[tuple[int, int], list[float]] = {}

    def watch(event: Event, commands: list[Command]) -> None:
        for arrival in arrivals_of(event):
            last.setdefault((arrival.worker, arrival.version), []).append(arrival.now)
        for command in commands:
            if isinstance(command, CloseRound):
                used = [(last[g.worker, g.version].pop(0), g.worker) for g in command.accepted]
                closed.append((event.now, used))

    replay(
        Table.dense(times),
        Policy(NoForecast(), Backup(c=cutoff)),
        late_finish=late_finish,
        overhead=overhead,
        acceptance=acceptance,
        rounds=rounds,
        watch=watch,
    )
    return closed


MODES: dict[str, tuple[Mode, Acceptance, bool]] = {
    "abandon": (Mode(stops=True), SYNCHRONOUS, False),
    "finish": (Mode(), SYNCHRONOUS, True),
    "batch, abandon": (Mode(stops=True, again=True), BATCH_SYNCHRONOUS, False),
    "batch, finish": (Mode(again=True), BATCH_SYNCHRONOUS, True),
    "stale": (Mode(stale=True), STALE_SYNCHRONOUS, False),
    "asynchronous": (Mode(stale=True, again=True), ASYNCHRONOUS, False),
}
LAWS: dict[str, Callable[[np.random.Generator, tuple[int, int]], FloatArray]] = {
    "smooth": lambda rng, shape: rng.lognormal(0.0, 0.8, shape),
    "heavy": lambda rng, shape: np.where(rng.random(shape) < 0.1, 9.0, 1.0) * rng.lognormal(0.0, 0.1, shape),
    "tied": lambda rng, shape: rng.integers(1, 5, shape).astype(np.float64),
}
ROUNDS = 60


@pytest.mark.parametrize("overhead", [0.0, 0.5])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("mode", MODES)
def test_every_arrival_and_every_close_is_that_of_the_model(mode: str, law: str, overhead: float) -> None:
    how, acceptance, late_finish = MODES[mode]
    seed = [sorted(MODES).index(mode), sorted(LAWS).index(law)]
    # Plenty of rows, for modes in which a worker goes through several in a round.
    times = LAWS[law](np.random.default_rng(seed), (8 * ROUNDS, 7))
    for cutoff in (1, 3, 5, 7):
        expected = Cluster(times, cutoff, overhead, how).run(ROUNDS)
        assert len(expected) == ROUNDS
        assert replayed(times, cutoff, overhead, acceptance, late_finish, ROUNDS) == expected


def test_the_modes_differ() -> None:
    times = LAWS["heavy"](np.random.default_rng(0), (8 * ROUNDS, 7))
    ends = {mode: Cluster(times, 5, 0.5, how).run(ROUNDS)[-1][0] for mode, (how, _, _) in MODES.items()}
    assert len(set(ends.values())) == len(MODES)
