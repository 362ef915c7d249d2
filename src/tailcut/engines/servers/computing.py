"""Compute a worker's jobs: the gradient of a mini-batch at given parameters, in micro-batches. No Ray.

Between micro-batches a worker checks whether it must drop the job, and whether its deadline has passed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
import torch

from tailcut.engines.servers.orders import Came, Job
from tailcut.engines.servers.pieces import Vector
from tailcut.engines.servers.slices import Slices
from tailcut.engines.slow.delays import Delays
from tailcut.engines.slow.ways import sleep
from tailcut.errors import InputError
from tailcut.learning.flat import FlatNet
from tailcut.learning.tasks.base import Batch, Task
from tailcut.types import Seconds


@final
@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """The settings that every worker needs.

    Attributes:
        task: makes the task to train.
        batch: samples in a mini-batch. seed: seed of weights and data.
        pieces: micro-batches in a mini-batch, between which a worker checks whether to stop; 1 for no checks.
        delays: the delay of each mini-batch; None for none. hold_up: function that spends a delay in seconds.
        name: name of the task, so that no other task resumes from its checkpoints.
    """

    task: Callable[[], Task]
    batch: int
    seed: int
    pieces: int = 1
    delays: Delays | None = None
    hold_up: Callable[[Seconds], None] = field(default=sleep)
    name: str = ""


def net_of(task: Task, seed: int) -> FlatNet:
    """Return a fresh net of a task.

    Raises:
        InputError: it keeps batch statistics, which no server would hold.
    """
    net = FlatNet(task.net(seed))
    if net.batch_statistics:
        raise InputError(
            "The net has batch normalisation, whose statistics are no parameters: servers hold parameters alone. Take "
            "GroupNorm or LayerNorm, or train with --engine torch."
        )
    return net


@final
class Computing:
    """One worker's net and data.

    Args:
        setting: what to train.
        worker: id of the worker.
        shards: number of pieces that gradients are cut into.
        clock: returns the time in seconds.
    """

    def __init__(
        self, setting: Setting, worker: int, shards: int, clock: Callable[[], Seconds] = time.monotonic
    ) -> None:
        self._setting, self._worker, self._clock = setting, worker, clock
        self._task = setting.task()
        self._net = net_of(self._task, setting.seed)
        self._slices = Slices(self._net.vector.numel(), shards).all

    def compute(
        self, job: Job, parameters: Sequence[Vector], is_dropped: Callable[[], bool]
    ) -> tuple[Came, list[Vector]]:
        """Return the report on a job and its gradient, cut as the shards are; no gradient if it was dropped.

        Args:
            job: what to do.
            parameters: of the job's version, one array for each shard.
            is_dropped: returns whether to drop the job; called before every micro-batch.
        """
        began = self._clock()
        self._take(parameters)
        total: torch.Tensor | None = None
        losses, samples = 0.0, 0
        for seconds, piece in self._pieces(job.number):
            if is_dropped():
                return self._came(job, began, 0), []
            if job.deadline is not None and samples and self._clock() - began >= job.deadline:
                break
            self._setting.hold_up(seconds)
            loss = self._task.losses(self._net.module, piece).sum()
            gradient = self._net.gradient(loss)
            total = gradient if total is None else total.add_(gradient)
            losses += float(loss.detach())
            samples += len(piece[0])
        assert total is not None
        mean: Vector = total.div_(samples).cpu().numpy()
        found = self._came(job, began, samples, losses / samples, mean)
        return found, [mean[piece] for piece in self._slices]

    def _take(self, parameters: Sequence[Vector]) -> None:
        vector = self._net.vector
        for piece, values in zip(self._slices, parameters, strict=True):
            if vector.device.type == "cpu":
                vector.numpy()[piece] = values
            else:
                # Arrays of Ray's store are read-only, which torch warns about: copy them.
                vector[piece] = torch.from_numpy(values.copy()).to(vector.device)

    def _pieces(self, number: int) -> list[tuple[Seconds, Batch]]:
        """Return the micro-batches of a mini-batch, each with its delay in seconds."""
        setting = self._setting
        places = np.array([self._worker]), np.array([number])
        batch = self._task.batches(*places, setting.batch, setting.seed)
        cut = [torch.tensor_split(each, min(setting.pieces, setting.batch)) for each in batch]
        pieces: list[Batch] = list(zip(*cut, strict=True))
        delay = 0.0 if setting.delays is None else setting.delays.of(self._worker, number)
        delay *= self._task.work(self._worker, number, setting.seed)
        return [(delay * len(piece[0]) / setting.batch, piece) for piece in pieces]

    def _came(
        self, job: Job, began: Seconds, samples: int, loss: float = 0.0, gradient: Vector | None = None
    ) -> Came:
        finite = gradient is None or bool(np.isfinite(gradient).all())
        size = 0 if gradient is None else gradient.nbytes
        share = samples / self._setting.batch if samples else 1.0
        return Came(job, self._clock() - began, samples, share, loss, finite, size, os.getpid())
