"""Gradients of many workers in as few passes as the mathematics allows.

Workers that computed at the newest parameters go through the net together: the gradient of a sum is the sum of the
gradients. They go in two halves, which cost what one pass costs and tell how far gradients scatter (`Measured`).
Workers at older parameters go through together too, each with its own copy of the net (`torch.func.vmap`).
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
"""Samples in one pass; more go in several."""
MOST_NETS = 64
"""Copies of the net in one pass."""


@dataclass(frozen=True, slots=True)
class Part:
    """The gradient of a part of an update.

    Attributes:
        total: `(parameters,)` sum over samples, each by its weight.
        losses: sum over samples of the loss, unweighted.
        samples: how many.
    """

    total: Tensor
    losses: float
    samples: int


@dataclass(frozen=True, slots=True)
class Mini:
    """The mini-batches to go through.

    Attributes:
        task: whose.
        size: samples in each.
        seed: of the run.
    """

    task: Task
    size: int
    seed: int

    def of(self, works: Sequence[Work]) -> Batch:
        """The mini-batches of several pieces of work, one after the other."""
        workers = np.array([work.worker for work in works], dtype=np.int64)
        numbers = np.array([work.number for work in works], dtype=np.int64)
        return self.task.batches(workers, numbers, self.size, self.seed)


def together(net: FlatNet, mini: Mini, works: Sequence[Work], taken: Sequence[int]) -> Part:
    """The gradient of several workers at the net's own parameters.

    Args:
        net: trained.
        mini: what to go through.
        works: whose gradients.
        taken: samples of each that count, the first ones of its mini-batch.
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
    """Each worker's own mean gradient and mean loss, at the parameters it computed at.

    Args:
        net: trained.
        mini: what to go through.
        works: whose gradients.
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
    # Copies, so that one gradient kept does not keep them all.
    return [(row.clone(), value) for row, value in zip(gradients, values.tolist(), strict=True)]


def _first_of(batch: Batch, size: int, counts: Sequence[int]) -> Batch:
    """Leave out what workers that stopped early did not get to."""
    if all(count == size for count in counts):
        return batch
    rows = torch.tensor([k * size + i for k, count in enumerate(counts) for i in range(count)])
    return tuple(each[rows.to(each.device)] for each in batch)
