"""The parts that all arms share: mini-batches, their delays and losses, and evaluations of the net."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import torch
from torch import Tensor, nn

from tailcut.engines.live.train.job import Job, spread
from tailcut.engines.live.train.notes import Notes
from tailcut.engines.look import Look
from tailcut.engines.slow.delays import Delays
from tailcut.engines.slow.ways import Way
from tailcut.learning.tasks.base import Batch, Predict, Task
from tailcut.types import Seconds

TELL: Seconds = 2.0
"""Shortest time between two lines on the progress, in seconds."""


@final
@dataclass(frozen=True, slots=True)
class Work:
    """One worker's mini-batches, by number: the same in every arm.

    Attributes:
        job: the training job. task: what is trained. worker: rank of the worker.
        delays: seconds by which mini-batches are held up. hold_up: spends these seconds.
    """

    job: Job
    task: Task
    worker: int
    delays: Delays
    hold_up: Way

    def batch(self, number: int) -> Batch:
        """Return the samples of a mini-batch."""
        job = self.job
        return self.task.batches(np.array([self.worker]), np.array([number]), job.batch, job.seed)

    def seconds(self, number: int) -> Seconds:
        """Return the delay of a mini-batch, in seconds; where lengths differ, a longer one has more."""
        return self.delays.of(self.worker, number) * self.task.work(self.worker, number, self.job.seed)

    def loss(self, predict: Predict, number: int) -> Tensor:
        """Return the mean loss over a mini-batch, after its delay."""
        self.hold_up(self.seconds(number))
        return self.task.losses(predict, self.batch(number)).mean()

    def pieces(self, number: int) -> list[tuple[Seconds, Batch]]:
        """Return the micro-batches of a mini-batch, each with its part of the delay, in seconds."""
        batch = self.batch(number)
        parts = [torch.tensor_split(each, min(self.job.pieces, self.job.batch)) for each in batch]
        some: list[Batch] = list(zip(*parts, strict=True))
        seconds = spread(self.seconds(number), [len(piece[0]) for piece in some])
        return list(zip(seconds, some, strict=True))

    def loss_of(self, predict: Predict, seconds: Seconds, piece: Batch) -> Tensor:
        """Return a micro-batch's part of the mean loss over its mini-batch, after its delay."""
        self.hold_up(seconds)
        return self.task.losses(predict, piece).sum() / self.job.batch


@final
class Watch:
    """Evaluates the net every so many updates, and notices when the arm has reached its target.

    Every worker does so at the same versions: none becomes a straggler by it, and as all copies of the net are
    equal all of them find the target reached at the same version.

    Args:
        work: work of this worker. net: its copy of the net. notes: notes that evaluations are added to.
        say: is told of the progress.

    Attributes:
        arrived: whether the target is reached.
    """

    def __init__(self, work: Work, net: nn.Module, notes: Notes, say: Callable[[str], None]) -> None:
        self.arrived = False
        self._work, self._net, self._notes, self._say = work, net, notes, say
        asked = work.job.target
        self._target = work.task.target if asked is None else replace(work.task.target, value=asked)
        self._began = self._told = time.monotonic()

    def begin(self) -> None:
        """Evaluate the initial net, and start the clock of the arm."""
        self._look(0)
        self._began = self._told = time.monotonic()

    @property
    def now(self) -> Seconds:
        """The seconds since the arm began."""
        return time.monotonic() - self._began

    def after_update(self, version: int) -> None:
        """Evaluate the net if it is time to."""
        if self.arrived or (version % self._work.job.every and version != self._work.job.updates):
            return
        look = self._look(version)
        if self._work.job.target is not None and self._target.reached(look.figures):
            self.arrived = True
        if self.arrived or time.monotonic() - self._told >= TELL:
            self._told = time.monotonic()
            self._say(str(look))

    def _look(self, version: int) -> Look:
        look = Look(version, self.now if version else 0.0, self._work.task.evaluate(self._net))
        self._notes.looks.append(look)
        return look
