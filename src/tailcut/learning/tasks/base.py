"""The base class of tasks: a net, its data, its loss, and the target at which a run is finished."""

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
    """The target of a run: a figure and the value that it must reach.

    Attributes:
        figure: name of one of the figures of `Task.evaluate`.
        value: value that the figure must reach.
        at: whether the figure must be at `least` or at `most` that value.
    """

    figure: str
    value: float
    at: Literal["least", "most"]

    def reached(self, figures: Mapping[str, float]) -> bool:
        """Return whether figures have reached the target."""
        found = figures[self.figure]
        return found >= self.value if self.at == "least" else found <= self.value


class Task(ABC):
    """A task to train.

    Everything random is a function of a seed: the first weights of `net`, the mini-batch of `batches`. Which samples a
    worker gets depends on the seed, the worker and the number of its mini-batch alone, so that every policy sees the
    same data in the same order.
    """

    @property
    @abstractmethod
    def target(self) -> Target:
        """The target of a run, unless a study sets another."""

    @property
    def batch(self) -> int:
        """Samples in a worker's mini-batch, unless a study sets another number."""
        return 8

    @property
    def samples(self) -> int | None:
        """Number of samples that training draws from; None where each sample is generated."""
        return None

    @abstractmethod
    def net(self, seed: int) -> torch.nn.Module:
        """Make a net with new weights, on the task's device."""

    @abstractmethod
    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        """Return the mini-batches of several workers, one after the other.

        Args:
            workers: `(k,)` the worker of each mini-batch.
            numbers: `(k,)` number of the mini-batch among that worker's own.
            size: samples in each.
            seed: seed of the run.

        Returns:
            Tensors with `k · size` rows.
        """

    @abstractmethod
    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        """Return the `(samples,)` loss of each sample, which can be differentiated."""

    @abstractmethod
    def evaluate(self, net: torch.nn.Module) -> dict[str, float]:
        """Return figures on held-out data (or the true ones, where they are known), `loss` included."""

    @property
    def one_pass(self) -> bool:
        """Return whether `losses` is a plain function of tensors, so that one pass can use many nets."""
        return True

    @property
    def noise_of(self) -> str:
        """Prefix of the parameter names used to estimate the gradient noise scale; empty for all parameters.

        Where a net learns several functions, such as a policy and a value, the gradient norms of one hide the
        noise of the other.
        """
        return ""

    def work(self, worker: int, number: int, seed: int) -> float:
        """Return the duration of a mini-batch as a multiple of the cluster's run time; 1 if all are alike."""
        del worker, number, seed
        return 1.0
