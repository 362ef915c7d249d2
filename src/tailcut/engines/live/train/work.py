"""What every arm has in common: mini-batches, how long they are held up, their losses, and looks at the net."""

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
"""Between two lines on how it goes."""


@final
@dataclass(frozen=True, slots=True)
class Work:
    """One worker's mini-batches, by number: the same in every arm.

    Attributes:
        job: what to do. task: what is trained. worker: whose.
        delays: which seconds it is held up. hold_up: how.
    """

    job: Job
    task: Task
    worker: int
    delays: Delays
    hold_up: Way

    def batch(self, number: int) -> Batch:
        """The samples of a mini-batch."""
        job = self.job
        return self.task.batches(np.array([self.worker]), np.array([number]), job.batch, job.seed)

    def seconds(self, number: int) -> Seconds:
        """By which a mini-batch is held up; longer ones by more, where lengths differ."""
        return self.delays.of(self.worker, number) * self.task.work(self.worker, number, self.job.seed)

    def loss(self, predict: Predict, number: int) -> Tensor:
        """Mean over a mini-batch, after its delay."""
        self.hold_up(self.seconds(number))
        return self.task.losses(predict, self.batch(number)).mean()

    def pieces(self, number: int) -> list[tuple[Seconds, Batch]]:
        """Micro-batches of a mini-batch, each with its part of the delay."""
        batch = self.batch(number)
        parts = [torch.tensor_split(each, min(self.job.pieces, self.job.batch)) for each in batch]
        some: list[Batch] = list(zip(*parts, strict=True))
        seconds = spread(self.seconds(number), [len(piece[0]) for piece in some])
        return list(zip(seconds, some, strict=True))

    def loss_of(self, predict: Predict, seconds: Seconds, piece: Batch) -> Tensor:
        """A micro-batch's part of the mean over its mini-batch, after its delay."""
        self.hold_up(seconds)
        return self.task.losses(predict, piece).sum() / self.job.batch


@final
class Watch:
    """Looks at the net every so many updates, and tells when the arm has got where it should.

    Every worker does so at the same versions: none becomes a straggler by it, and as all copies of the net are
    equal all of them find the target reached at the same version.

    Args:
        work: of this worker. net: its copy. notes: where looks are written down.
        say: is told how it goes.
    """

    def __init__(self, work: Work, net: nn.Module, notes: Notes, say: Callable[[str], None]) -> None:
        self.arrived = False
        self._work, self._net, self._notes, self._say = work, net, notes, say
        asked = work.job.target
        self._target = work.task.target if asked is None else replace(work.task.target, value=asked)
        self._began = self._told = time.monotonic()

    def begin(self) -> None:
        """The arm begins now."""
        self._look(0)
        self._began = self._told = time.monotonic()

    @property
    def now(self) -> Seconds:
        """Since the arm began."""
        return time.monotonic() - self._began

    def after_update(self, version: int) -> None:
        """Look, where it is time to."""
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
