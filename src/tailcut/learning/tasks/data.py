"""Tasks over a data set: samples drawn with replacement, a held-out part to evaluate on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tailcut.learning.nets import seeded
from tailcut.learning.tasks.base import Batch, Predict, Target, Task
from tailcut.learning.tasks.checks import on_device, whole
from tailcut.learning.tasks.shares import Shares
from tailcut.types import IntArray

SampleLoss: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Outputs and labels to `(samples,)` losses."""
Figures: TypeAlias = Callable[[Tensor, Tensor], dict[str, Tensor]]
"""Outputs and labels to `(samples,)` values each, whose means are figures of an evaluation."""
Change: TypeAlias = Callable[[Tensor, IntArray, int], Tensor]
"""Inputs, the places of the samples `(3, samples)` (worker, mini-batch, sample) and the seed to changed inputs."""

CHUNK = 2000
"""Most samples that are evaluated at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Samples to train on and held-out samples.

    Attributes:
        inputs: `(n, …)`.
        labels: `(n, …)`.
        test_inputs, test_labels: the held-out samples, in the same layout.
    """

    inputs: Tensor
    labels: Tensor
    test_inputs: Tensor
    test_labels: Tensor

    def to(self, device: str) -> Dataset:
        """Return the samples on a device."""
        on_device(device)
        parts = (self.inputs, self.labels, self.test_inputs, self.test_labels)
        return Dataset(*(part.to(device) for part in parts))

    def sorted(self) -> Dataset:
        """Return the samples with the training part sorted by label; equal labels keep their order."""
        if self.labels.dim() != 1:
            return self
        order = torch.argsort(self.labels, stable=True)
        return replace(self, inputs=self.inputs[order], labels=self.labels[order])


def class_loss(outputs: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of each sample, in nats."""
    return cross_entropy(outputs, labels, reduction="none")


def accuracy(outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """Return 1 for each sample that the net puts into the right class, else 0."""
    return {"accuracy": (outputs.argmax(-1) == labels).float()}


@final
@dataclass(frozen=True, slots=True, eq=False)
class DataTask(Task):
    """A net, a data set and a loss.

    Attributes:
        data: samples on the training device; sorted by label if `shares` gives workers labels of their own.
        make: makes a net with new weights, drawn from torch's CPU generator.
        goal: the target of a run.
        batch: samples in a worker's mini-batch.
        loss: loss of each sample.
        figures: figures of an evaluation besides the loss.
        shares: the part of the data that each worker draws from.
        change: alters the inputs of training samples at random (flips, crops); None leaves them unchanged.
    """

    data: Dataset
    make: Callable[[], nn.Module]
    goal: Target
    batch: int = 8
    loss: SampleLoss = class_loss
    figures: Figures = accuracy
    shares: Shares = field(default_factory=Shares)
    change: Change | None = None

    def __post_init__(self) -> None:
        whole("batch", self.batch)
        self.shares.refuse_more_parts_than(len(self.data.labels))

    @property
    def samples(self) -> int:
        """The number of training samples."""
        return len(self.data.labels)

    @property
    def target(self) -> Target:
        """The given target."""
        return self.goal

    def net(self, seed: int) -> nn.Module:
        """Make a net with new weights, on the device of the data."""
        return seeded(self.make, seed, str(self.data.inputs.device))

    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        """Return inputs and labels."""
        rows = self.shares.drawn(len(self.data.labels), workers, numbers, size, seed).ravel()
        chosen = torch.from_numpy(rows).to(self.data.inputs.device)
        inputs = self.data.inputs.index_select(0, chosen)
        if self.change is not None:
            inputs = self.change(inputs, sample_places(workers, numbers, size), seed)
        return inputs, self.data.labels.index_select(0, chosen)

    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        """Return the `(samples,)` losses."""
        inputs, labels = batch
        return self.loss(predict(inputs), labels)

    def evaluate(self, net: nn.Module) -> dict[str, float]:
        """Return the means of all figures over the held-out samples."""
        inputs, labels = (torch.split(p, CHUNK) for p in (self.data.test_inputs, self.data.test_labels))
        with judging(net):
            return means([self._values(net(x), y) for x, y in zip(inputs, labels, strict=True)])

    def _values(self, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
        return {"loss": self.loss(outputs, labels), **self.figures(outputs, labels)}


def sample_places(workers: IntArray, numbers: IntArray, size: int) -> IntArray:
    """`(3, k · size)` worker, mini-batch and sample of each row of a batch."""
    count = len(workers)
    samples = np.tile(np.arange(size), count)
    return np.stack((np.repeat(workers, size), np.repeat(numbers, size), samples))


def means(parts: list[dict[str, Tensor]]) -> dict[str, float]:
    """The mean of each value over the samples of all parts, added up in double precision."""
    return {name: float(torch.cat([part[name] for part in parts]).double().mean()) for name in parts[0]}


@contextmanager
def judging(net: nn.Module) -> Iterator[None]:
    """Put the net into evaluation mode and turn gradients off while the block runs."""
    was = net.training
    net.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        net.train(was)
