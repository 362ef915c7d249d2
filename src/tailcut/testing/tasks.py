"""The test suite that every task passes."""
# ruff: noqa: E402

from __future__ import annotations

from tailcut.extras import require

require("tailcut.testing.tasks", "torch", "pytest")

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, stack_module_state, vmap

from tailcut.learning.tasks.base import Batch, Task
from tailcut.types import IntArray

WORKERS, NUMBERS, SIZE, SEED = (3, 0, 7), (2, 5, 2), 2, 11
RTOL, ATOL = 1e-3, 1e-5
"""Tolerances for sums of the same numbers in two orders, in single precision."""


def whole(numbers: Sequence[int]) -> IntArray:
    """Return numbers as an array of integers."""
    return np.array(numbers, dtype=np.int64)


def batch_of(task: Task, which: Sequence[int] = (0, 1, 2), size: int = SIZE, seed: int = SEED) -> Batch:
    """Return the mini-batches of some of three workers."""
    workers, numbers = ([all_[k] for k in which] for all_ in (WORKERS, NUMBERS))
    return task.batches(whole(workers), whole(numbers), size, seed)


def same(one: Batch, other: Batch) -> bool:
    """Return whether two batches are equal to the last bit."""
    return len(one) == len(other) and all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def rows(batch: Batch, which: slice) -> Batch:
    """Return some samples of a batch."""
    return tuple(part[which] for part in batch)


def joined(batches: Sequence[Batch]) -> Batch:
    """Return batches joined one after another."""
    return tuple(torch.cat(parts) for parts in zip(*batches, strict=True))


def gradient(task: Task, net: torch.nn.Module, batch: Batch) -> Tensor:
    """Return the gradient of the mean loss over a batch, as one vector."""
    parts = torch.autograd.grad(task.losses(net, batch).mean(), list(net.parameters()))
    return torch.cat([part.flatten() for part in parts])


class TaskSuite:
    """Tests of a task. Override the fixture `task`."""

    @pytest.fixture
    def task(self) -> Task:
        """The task under test."""
        raise NotImplementedError("Override the fixture `task` to say which task is tested.")

    def test_the_same_seed_gives_the_same_batch(self, task: Task) -> None:
        """Batches of one seed are equal to the last bit, and another seed gives another batch."""
        assert same(batch_of(task), batch_of(task))
        assert not same(batch_of(task), batch_of(task, seed=SEED + 1))

    def test_every_worker_and_every_number_has_its_own_samples(self, task: Task) -> None:
        """No mini-batch is a copy of another."""
        workers, numbers = whole([0, 1, 0, 1]), whole([0, 0, 1, 1])
        batch = task.batches(workers, numbers, 8, SEED)
        parts = [rows(batch, slice(8 * k, 8 * k + 8)) for k in range(4)]
        assert not any(same(parts[i], parts[j]) for i in range(4) for j in range(i))

    def test_workers_at_once_are_the_same_as_one_by_one(self, task: Task) -> None:
        """A batch of several workers has their mini-batches in the order asked for."""
        assert same(batch_of(task), joined([batch_of(task, [k]) for k in range(3)]))

    def test_the_order_of_workers_does_not_matter(self, task: Task) -> None:
        """Each worker gets the same mini-batch at any place in the order."""
        assert same(batch_of(task, (2, 0, 1)), joined([batch_of(task, [k]) for k in (2, 0, 1)]))

    def test_a_smaller_mini_batch_is_the_beginning_of_a_larger_one(self, task: Task) -> None:
        """A smaller mini-batch is the first samples of a larger one, so a worker may stop early."""
        assert same(batch_of(task, [1], size=1), rows(batch_of(task, [1], size=4), slice(1)))

    def test_a_batch_has_as_many_rows_as_samples(self, task: Task) -> None:
        """Every tensor of a batch has one row per sample, for mini-batches of the task's own size."""
        assert task.batch >= 1
        for part in batch_of(task, size=task.batch):
            assert part.shape[0] == 3 * task.batch

    def test_there_is_one_finite_loss_for_each_sample(self, task: Task) -> None:
        """Each sample has one finite loss, which does not depend on the other samples of the batch."""
        net, batch = task.net(SEED), batch_of(task)
        losses = task.losses(net, batch).detach()
        assert losses.shape == (3 * SIZE,)
        assert torch.isfinite(losses).all()
        alone = [task.losses(net, rows(batch, slice(k, k + 1))).detach() for k in range(3 * SIZE)]
        torch.testing.assert_close(torch.cat(alone), losses, rtol=RTOL, atol=ATOL)

    def test_the_gradient_of_all_is_the_mean_of_the_gradients(self, task: Task) -> None:
        """The gradient of a joined batch is the mean of the workers' gradients, finite and not zero."""
        net = task.net(SEED)
        apart = [gradient(task, net, batch_of(task, [k])) for k in range(3)]
        together = gradient(task, net, batch_of(task))
        torch.testing.assert_close(torch.stack(apart).mean(0), together, rtol=RTOL, atol=ATOL)
        assert torch.isfinite(together).all()
        assert together.abs().max() > 0

    def test_many_nets_go_through_at_once(self, task: Task) -> None:
        """Gradients by `torch.func` over stacked parameters are those of each net alone."""
        if not task.one_pass:
            pytest.skip("its losses are not plain functions of tensors, and it says so")
        nets = [task.net(seed) for seed in range(3)]
        batch = batch_of(task)
        parameters, buffers = stack_module_state(nets)

        def loss(parameters: dict[str, Tensor], buffers: dict[str, Tensor], part: Batch) -> Tensor:
            def predict(*inputs: Tensor) -> Tensor:
                out: Tensor = functional_call(nets[0], (parameters, buffers), inputs)
                return out

            return task.losses(predict, part).mean()

        stacked = tuple(part.reshape(3, SIZE, *part.shape[1:]) for part in batch)
        found = vmap(grad(loss), randomness="error")(parameters, buffers, stacked)
        names = [name for name, _ in nets[0].named_parameters()]
        for k, net in enumerate(nets):
            expected = gradient(task, net, rows(batch, slice(k * SIZE, (k + 1) * SIZE)))
            torch.testing.assert_close(
                torch.cat([found[n][k].flatten() for n in names]), expected, rtol=RTOL, atol=ATOL
            )

    def test_a_net_depends_on_its_seed_alone(self, task: Task) -> None:
        """A net neither uses nor advances torch's global random generator."""
        torch.manual_seed(5)
        before = torch.get_rng_state()
        one = torch.nn.utils.parameters_to_vector(task.net(SEED).parameters()).detach()
        assert torch.equal(torch.get_rng_state(), before)
        torch.manual_seed(6)
        again, other = (
            torch.nn.utils.parameters_to_vector(task.net(seed).parameters()).detach()
            for seed in (SEED, SEED + 1)
        )
        assert torch.equal(one, again)
        assert not torch.equal(one, other)

    def test_nothing_else_uses_global_randomness(self, task: Task) -> None:
        """Batches, losses and evaluations advance no global random generator, of torch or NumPy."""
        net = task.net(SEED)
        before, legacy = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[index] # noqa: NPY002
        task.losses(net, batch_of(task))
        task.evaluate(net)
        assert torch.equal(torch.get_rng_state(), before)
        assert np.array_equal(np.random.get_state()[1], legacy)  # type: ignore[index] # noqa: NPY002

    def test_an_evaluation_has_the_loss_and_the_figure_of_the_target(self, task: Task) -> None:
        """The figures are finite and repeatable, and those of a new net have not reached the target."""
        net = task.net(SEED)
        figures = task.evaluate(net)
        assert {"loss", task.target.figure} <= set(figures)
        assert all(isinstance(value, float) and math.isfinite(value) for value in figures.values())
        assert not task.target.reached(figures)
        assert task.evaluate(net) == figures

    def test_an_evaluation_changes_nothing(self, task: Task) -> None:
        """An evaluation changes neither parameters nor training mode, and leaves no gradients."""
        net = task.net(SEED)
        before = torch.nn.utils.parameters_to_vector(net.parameters()).detach().clone()
        assert net.training
        task.evaluate(net)
        assert net.training
        assert torch.equal(torch.nn.utils.parameters_to_vector(net.parameters()).detach(), before)
        assert all(parameter.grad is None for parameter in net.parameters())

    def test_work_is_a_positive_multiple(self, task: Task) -> None:
        """Work is positive, 1 on average within a factor of two, and the same each time it is asked for."""
        found = [task.work(worker, number, SEED) for worker in range(20) for number in range(20)]
        assert all(0.0 < value < math.inf for value in found)
        assert 0.5 < np.mean(found) < 2.0
        assert task.work(3, 4, SEED) == found[3 * 20 + 4]
