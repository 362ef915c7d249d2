"""Gradients of many workers in as few passes as possible.

Mini-batches at the newest parameters share a pass: the gradient of a sum is the sum of the gradients. They
are split into two halves, which cost as much as one pass and show the variance of gradients (`Measured`).
Mini-batches at older parameters share a pass too, each with its own copy of the net (`torch.func.vmap`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.func import grad_and_value, vmap

from tailcut.learning.flat import FlatNet
from tailcut.learning.tasks.base import Batch, Task
from tailcut.work import Work

MOST_SAMPLES = 16384
"""Most samples in one pass; more are split into several passes."""
MOST_NETS = 64
"""Most copies of the net in one pass."""


@dataclass(frozen=True, slots=True)
class Part:
    """The gradient of a part of an update.

    Attributes:
        total: `(parameters,)` sum over samples, each by its weight.
        losses: sum over samples of the loss, unweighted.
        samples: number of samples.
    """

    total: Tensor
    losses: float
    samples: int


@dataclass(frozen=True, slots=True)
class Mini:
    """The source of mini-batches: a task, a batch size and a seed.

    Attributes:
        task: the task that draws them.
        size: samples in each.
        seed: seed of the run.
    """

    task: Task
    size: int
    seed: int

    def of(self, works: Sequence[Work]) -> Batch:
        """Return the mini-batches of several pieces of work, one after the other."""
        workers = np.array([work.worker for work in works], dtype=np.int64)
        numbers = np.array([work.number for work in works], dtype=np.int64)
        return self.task.batches(workers, numbers, self.size, self.seed)


def together(net: FlatNet, mini: Mini, works: Sequence[Work], taken: Sequence[int]) -> Part:
    """Return the summed gradient of several mini-batches at the net's own parameters.

    Args:
        net: the net in training.
        mini: source of the mini-batches.
        works: the mini-batches to compute.
        taken: number of samples of each that count, from the beginning of its mini-batch.
    """
    each = 1 if net.batch_statistics else max(1, MOST_SAMPLES // mini.size)
    total, losses = torch.zeros_like(net.vector), 0.0
    for start in range(0, len(works), each):
        some, counts = works[start : start + each], taken[start : start + each]
        batch = _first_of(mini.of(some), mini.size, counts)
        loss = mini.task.losses(net.module, batch).sum()
        total += net.gradient(loss)
        losses += float(loss.detach())
    return Part(total, losses, sum(taken))


def apart(
    net: FlatNet, mini: Mini, works: Sequence[Work], kept: dict[int, Tensor]
) -> list[tuple[Tensor, float]]:
    """Return the mean gradient and the mean loss of each mini-batch, at the parameters of its own version.

    Args:
        net: the net in training.
        mini: source of the mini-batches.
        works: the mini-batches to compute.
        kept: parameters by version.
    """
    if not mini.task.one_pass or net.batch_statistics:
        return [_alone(net, mini, work, kept[work.version]) for work in works]
    found: list[tuple[Tensor, float]] = []
    for start in range(0, len(works), MOST_NETS):
        found += _at_once(net, mini, works[start : start + MOST_NETS], kept)
    return found


def _alone(net: FlatNet, mini: Mini, work: Work, vector: Tensor) -> tuple[Tensor, float]:
    newest = net.vector.clone()
    net.put(vector)
    loss = mini.task.losses(net.module, mini.of([work])).mean()
    gradient = net.gradient(loss)
    net.put(newest)
    return gradient, float(loss.detach())


def _at_once(
    net: FlatNet, mini: Mini, works: Sequence[Work], kept: dict[int, Tensor]
) -> list[tuple[Tensor, float]]:
    batch = tuple(each.reshape(len(works), mini.size, *each.shape[1:]) for each in mini.of(works))
    vectors = torch.stack([kept[work.version] for work in works])

    def loss(vector: Tensor, *inputs: Tensor) -> Tensor:
        return mini.task.losses(net.at(vector), inputs).mean()

    gradients, values = vmap(grad_and_value(loss), randomness="error")(vectors, *batch)
    # Copy each row: a kept view would keep all gradients in memory.
    return [(row.clone(), value) for row, value in zip(gradients, values.tolist(), strict=True)]


def _first_of(batch: Batch, size: int, counts: Sequence[int]) -> Batch:
    """Leave out the samples that workers that stopped early did not compute."""
    if all(count == size for count in counts):
        return batch
    rows = torch.tensor([k * size + i for k, count in enumerate(counts) for i in range(count)])
    return tuple(each[rows.to(each.device)] for each in batch)
