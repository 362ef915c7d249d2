"""What a task is: a net, its data, its loss, and the figure at which a run has got where it should."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from tailcut.types import IntArray

Batch: TypeAlias = tuple[Tensor, ...]
"""Tensors whose first dimension is samples; those of one worker lie together, workers in the order asked for."""
Predict: TypeAlias = Callable[..., Tensor]
"""The net with its parameters filled in: inputs to outputs."""


@dataclass(frozen=True, slots=True)
class Target:
    """When a run has arrived.

    Attributes:
        figure: name of one of the figures of `Task.evaluate`.
        value: to be reached.
        at: whether the figure has to be at `least` or at `most` that.
    """

    figure: str
    value: float
    at: Literal["least", "most"]

    def reached(self, figures: Mapping[str, float]) -> bool:
        """Whether figures are there."""
        found = figures[self.figure]
        return found >= self.value if self.at == "least" else found <= self.value


class Task(ABC):
    """Something to train.

    Everything random is a function of a seed: the first weights of `net`, the mini-batch of `batches`. Which samples a
    worker gets depends on the seed, the worker and the number of its mini-batch alone, so that every policy sees the
    same data in the same order.
    """

    @property
    @abstractmethod
    def target(self) -> Target:
        """When a run has arrived, unless a study says otherwise."""

    @property
    def batch(self) -> int:
        """Samples in a worker's mini-batch, unless a study says otherwise."""
        return 8

    @property
    def samples(self) -> int | None:
        """Samples that training draws from; None where each is made anew."""
        return None

    @abstractmethod
    def net(self, seed: int) -> torch.nn.Module:
        """A fresh net, on the task's device."""

    @abstractmethod
    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        """Mini-batches of several workers, one after the other.

        Args:
            workers: `(k,)` whose.
            numbers: `(k,)` which of that worker's mini-batches.
            size: samples in each.
            seed: of the run.

        Returns:
            Tensors with `k · size` rows.
        """

    @abstractmethod
    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        """`(samples,)` loss of each sample, which can be differentiated."""

    @abstractmethod
    def evaluate(self, net: torch.nn.Module) -> dict[str, float]:
        """Figures on data kept back (or the true ones, where they are known), among them `loss`."""

    @property
    def one_pass(self) -> bool:
        """Whether `losses` is a plain function of tensors, so that many nets can go through it at once."""
        return True

    @property
    def noise_of(self) -> str:
        """What the names of those parameters begin with whose gradients tell how noisy the training is; empty for all.

        Where a net learns several things side by side, such as what to do and what that is worth, the norms of one hide
        the noise of the other.
        """
        return ""

    def work(self, worker: int, number: int, seed: int) -> float:
        """How long a mini-batch takes, as a multiple of the cluster's run time: 1 where length does not matter."""
        del worker, number, seed
        return 1.0
