"""The suite of tasks fails for those that break the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tailcut.learning.tasks.base import Batch, Predict, Target, Task
from tailcut.learning.tasks.quadratic import Quadratic
from tailcut.testing.tasks import TaskSuite
from tailcut.types import IntArray


class Sound(Task):
    """A task as good as any."""

    def __init__(self) -> None:
        self.inner = Quadratic(dimension=4)
        self.asked = 0

    @property
    def target(self) -> Target:
        return self.inner.target

    def net(self, seed: int) -> nn.Module:
        return self.inner.net(seed)

    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        return self.inner.batches(workers, numbers, size, seed)

    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        return self.inner.losses(predict, batch)

    def evaluate(self, net: nn.Module) -> dict[str, float]:
        return self.inner.evaluate(net)


class InOrder(Sound):
    """Gives whatever comes next."""

    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        self.asked += 1
        return super().batches(workers, numbers + self.asked, size, seed)


class ByPosition(Sound):
    """Gives samples by the position in the question instead of the worker."""

    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        return super().batches(np.arange(len(workers)), numbers, size, seed)


class OneForAll(Sound):
    """Gives all workers the same samples."""

    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        return super().batches(np.zeros_like(workers), numbers, size, seed)


class BySize(Sound):
    """Other samples for another size."""

    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        return super().batches(workers, numbers + size, size, seed)


class Normed(Sound):
    """A loss with batch statistics."""

    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        found = super().losses(predict, batch)
        return found * found.detach().mean()


class Summed(Sound):
    """One loss for all."""

    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        return super().losses(predict, batch).sum()


class Branching(Sound):
    """Not a plain function of tensors, and does not say so."""

    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        found = super().losses(predict, batch)
        return found if float(found.detach().sum()) > -1e9 else -found


class Tossing(Sound):
    """Draws from the global generator."""

    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        return super().losses(predict, batch) + 0.0 * torch.rand(1)


class Unseeded(Sound):
    """Weights from the global generator."""

    def net(self, seed: int) -> nn.Module:
        net = super().net(seed)
        next(net.parameters()).data += torch.rand(4)
        return net


class Always(Sound):
    """The same net for every seed."""

    def net(self, seed: int) -> nn.Module:
        return super().net(0)


class Elsewhere(Sound):
    """Has no figure of its target."""

    @property
    def target(self) -> Target:
        return Target("accuracy", 0.5, "least")


class Arrived(Sound):
    """Reached before it begins."""

    @property
    def target(self) -> Target:
        return Target("loss", 1e9, "most")


class Meddling(Sound):
    """Evaluates by training."""

    def evaluate(self, net: nn.Module) -> dict[str, float]:
        found = super().evaluate(net)
        next(net.parameters()).data *= 0.9
        return found


class Timeless(Sound):
    """Takes no time."""

    def work(self, worker: int, number: int, seed: int) -> float:
        return 0.0


def failures(task: Callable[[], Task]) -> list[str]:
    suite: Any = TaskSuite()
    out = []
    for name in sorted(dir(TaskSuite)):
        if name.startswith("test_"):
            try:
                getattr(suite, name)(task())
            except Exception:
                out.append(name)
    return out


def test_a_sound_task_passes() -> None:
    assert failures(Sound) == []


@pytest.mark.parametrize(
    ("task", "caught"),
    [
        (InOrder, "test_the_same_seed_gives_the_same_batch"),
        (ByPosition, "test_workers_at_once_are_the_same_as_one_by_one"),
        (OneForAll, "test_every_worker_and_every_number_has_its_own_samples"),
        (BySize, "test_a_smaller_mini_batch_is_the_beginning_of_a_larger_one"),
        (Normed, "test_the_gradient_of_all_is_the_mean_of_the_gradients"),
        (Summed, "test_there_is_one_finite_loss_for_each_sample"),
        (Branching, "test_many_nets_go_through_at_once"),
        (Tossing, "test_nothing_else_uses_global_randomness"),
        (Unseeded, "test_a_net_depends_on_its_seed_alone"),
        (Always, "test_a_net_depends_on_its_seed_alone"),
        (Elsewhere, "test_an_evaluation_has_the_loss_and_the_figure_of_the_target"),
        (Arrived, "test_an_evaluation_has_the_loss_and_the_figure_of_the_target"),
        (Meddling, "test_an_evaluation_changes_nothing"),
        (Timeless, "test_work_is_a_positive_multiple"),
    ],
)
def test_a_broken_task_is_caught(task: Callable[[], Task], caught: str) -> None:
    assert caught in failures(task)
