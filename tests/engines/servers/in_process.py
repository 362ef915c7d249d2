"""Servers without Ray: course, workers and shards in this process, driven by the events of a simulated run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from tests.learning.plain import BATCH, Plain

from tailcut.acceptance import SYNCHRONOUS, Acceptance
from tailcut.engines.servers.computing import Computing, Setting, net_of
from tailcut.engines.servers.course import Begin, Course, Deed, Drop, Make
from tailcut.engines.servers.orders import Came, Job
from tailcut.engines.servers.pieces import Piece
from tailcut.engines.servers.reckoning import Reckoning
from tailcut.engines.servers.shard import Shard
from tailcut.engines.servers.slices import Slices, mask_of
from tailcut.engines.simulated import updates
from tailcut.events import Applied, Arrived, Event, Settle, arrivals_of
from tailcut.learning.recipe import Recipe
from tailcut.learning.tasks.base import Task
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.table import Table
from tailcut.types import Measured, RoundRecord
from tailcut.work import Update, Work


def events_of(
    table: Table, policy: Policy, acceptance: Acceptance = SYNCHRONOUS, late_finish: bool = False, **more: Any
) -> tuple[list[Event], list[Update]]:
    """Return all events of a simulated run, and its updates."""
    seen: list[Event] = []
    made = updates(
        table,
        policy,
        late_finish=late_finish,
        acceptance=acceptance,
        watch=lambda event, commands: seen.append(event),
        **more,
    )
    return seen, list(made)


@dataclass
class InProcess:
    """A run on shards in this process; time is what the events say."""

    recipe: Recipe
    policy: Policy
    workers: int
    shards: int = 3
    acceptance: Acceptance = SYNCHRONOUS
    late_finish: bool = False
    overhead: float = 0.0
    task: Task = field(default_factory=Plain)
    seed: int = 0

    def __post_init__(self) -> None:
        self.records: list[RoundRecord] = []
        self.settled: list[Settle] = []
        self.measured: list[Measured | None] = []
        rounds = Rounds(self.policy, self.acceptance, self.late_finish, self.overhead)
        self.course = Course(rounds, self.records.append, self.settled.append)
        self.reckoning = Reckoning(self.recipe, self.workers, BATCH)
        net = net_of(self.task, self.seed)
        vector = net.vector.numpy().copy()
        slices = Slices(len(vector), self.shards).all
        telling = mask_of(*net.layout, self.task.noise_of)
        self.pieces = [Shard(k, self.recipe.optimiser, telling[each]) for k, each in enumerate(slices)]
        for shard, each in zip(self.pieces, slices, strict=True):
            shard.give(Piece(0, vector[each], {}))
        self.kept = {0: [vector[each] for each in slices]}
        setting = Setting(partial(_itself, self.task), BATCH, self.seed)
        self.desks = [Computing(setting, worker, self.shards) for worker in range(self.workers)]
        self.running: dict[int, Job] = {}
        self.arrived: dict[Work, tuple[Came, list[Any]]] = {}

    @property
    def vector(self) -> np.ndarray[Any, Any]:
        """The parameters now."""
        return np.concatenate([shard.piece().vector for shard in self.pieces])

    def run(self, events: list[Event]) -> None:
        """Let events happen. What an update measured is told with the opening that follows it."""
        for event in events:
            match event:
                case Applied(version=version) if version > 0:
                    event = Applied(event.now, version, self.measured[version - 1])
            for arrival in arrivals_of(event):
                self._compute(arrival)
            self._do([*self.course.handle(event), *self.course.think()])

    def _compute(self, event: Arrived) -> None:
        job = self.running.get(event.worker)
        # Work that was dropped arrives in virtual time too, and is not heard.
        if job is not None and job.version == event.version:
            del self.running[event.worker]
            found = self.desks[job.worker].compute(job, self.kept[job.version], lambda: False)
            self.arrived[Work(job.worker, job.version, job.number)] = found

    def _do(self, deeds: list[Deed]) -> None:
        for deed in deeds:
            match deed:
                case Begin(job):
                    self.running[job.worker] = job
                case Drop():
                    self.running.pop(deed.worker, None)
                case Make():
                    self._make(deed.update)

    def _make(self, update: Update) -> None:
        found = [self.arrived.pop(work) for work in update.accepted]
        came, gradients = [each for each, _ in found], [gradient for _, gradient in found]
        order = self.reckoning.order(0, update.record.version, came)
        if self.reckoning.clips:
            weighed = [s.weigh(order, [g[s.number] for g in gradients]) for s in self.pieces]
            order = self.reckoning.clipped(order, weighed)
        answers = [s.apply(order, [g[s.number] for g in gradients]) for s in self.pieces]
        assert not any(answer.refused for answer in answers)
        self.measured.append(self.reckoning.made(order, came, answers))
        self.kept[order.base + 1] = [shard.piece().vector for shard in self.pieces]


def _itself(task: Task) -> Task:
    return task
