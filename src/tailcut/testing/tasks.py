"""The suite every task passes."""
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
"""Two orders of adding up the same numbers, in single precision."""


def whole(numbers: Sequence[int]) -> IntArray:
    """As an array."""
    return np.array(numbers, dtype=np.int64)


def batch_of(task: Task, which: Sequence[int] = (0, 1, 2), size: int = SIZE, seed: int = SEED) -> Batch:
    """Mini-batches of some of three workers."""
    workers, numbers = ([all_[k] for k in which] for all_ in (WORKERS, NUMBERS))
    return task.batches(whole(workers), whole(numbers), size, seed)


def same(one: Batch, other: Batch) -> bool:
    """Whether two batches are equal to the last bit."""
    return len(one) == len(other) and all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def rows(batch: Batch, which: slice) -> Batch:
    """Some samples of a batch."""
    return tuple(part[which] for part in batch)


def joined(batches: Sequence[Batch]) -> Batch:
    """Batches one after the other."""
    return tuple(torch.cat(parts) for parts in zip(*batches, strict=True))


def gradient(task: Task, net: torch.nn.Module, batch: Batch) -> Tensor:
    """Of the mean loss over a batch, as one vector."""
    parts = torch.autograd.grad(task.losses(net, batch).mean(), list(net.parameters()))
    return torch.cat([part.flatten() for part in parts])


class TaskSuite:
    """Override `task`."""

    @pytest.fixture
    def task(self) -> Task:
        """The task under test."""
        raise NotImplementedError("Override the fixture `task` to say which task is tested.")

    def test_the_same_seed_gives_the_same_batch(self, task: Task) -> None:
        """To the last bit, and another seed another one."""
        assert same(batch_of(task), batch_of(task))
        assert not same(batch_of(task), batch_of(task, seed=SEED + 1))

    def test_every_worker_and_every_number_has_its_own_samples(self, task: Task) -> None:
        """None is a copy of another."""
        workers, numbers = whole([0, 1, 0, 1]), whole([0, 0, 1, 1])
        batch = task.batches(workers, numbers, 8, SEED)
        parts = [rows(batch, slice(8 * k, 8 * k + 8)) for k in range(4)]
        assert not any(same(parts[i], parts[j]) for i in range(4) for j in range(i))

    def test_workers_at_once_are_the_same_as_one_by_one(self, task: Task) -> None:
        """In the order asked for."""
        assert same(batch_of(task), joined([batch_of(task, [k]) for k in range(3)]))

    def test_the_order_of_workers_does_not_matter(self, task: Task) -> None:
        """Each gets what it gets."""
        assert same(batch_of(task, (2, 0, 1)), joined([batch_of(task, [k]) for k in (2, 0, 1)]))

    def test_a_smaller_mini_batch_is_the_beginning_of_a_larger_one(self, task: Task) -> None:
        """Who stops early has done the first samples."""
        assert same(batch_of(task, [1], size=1), rows(batch_of(task, [1], size=4), slice(1)))

    def test_a_batch_has_as_many_rows_as_samples(self, task: Task) -> None:
        """In every tensor, also for the task's own mini-batch."""
        assert task.batch >= 1
        for part in batch_of(task, size=task.batch):
            assert part.shape[0] == 3 * task.batch

    def test_there_is_one_finite_loss_for_each_sample(self, task: Task) -> None:
        """And none depends on the other samples of the batch."""
        net, batch = task.net(SEED), batch_of(task)
        losses = task.losses(net, batch).detach()
        assert losses.shape == (3 * SIZE,)
        assert torch.isfinite(losses).all()
        alone = [task.losses(net, rows(batch, slice(k, k + 1))).detach() for k in range(3 * SIZE)]
        torch.testing.assert_close(torch.cat(alone), losses, rtol=RTOL, atol=ATOL)

    def test_the_gradient_of_all_is_the_mean_of_the_gradients(self, task: Task) -> None:
        """So workers can go through the net together; and it is finite and not zero."""
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
        """Torch's global generator is neither used nor moved on."""
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
        """Neither batches nor losses nor evaluations, of torch or of NumPy."""
        net = task.net(SEED)
        before, legacy = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[index] # noqa: NPY002
        task.losses(net, batch_of(task))
        task.evaluate(net)
        assert torch.equal(torch.get_rng_state(), before)
        assert np.array_equal(np.random.get_state()[1], legacy)  # type: ignore[index] # noqa: NPY002

    def test_an_evaluation_has_the_loss_and_the_figure_of_the_target(self, task: Task) -> None:
        """All finite at the start, where the target is not reached yet; the same every time."""
        net = task.net(SEED)
        figures = task.evaluate(net)
        assert {"loss", task.target.figure} <= set(figures)
        assert all(isinstance(value, float) and math.isfinite(value) for value in figures.values())
        assert not task.target.reached(figures)
        assert task.evaluate(net) == figures

    def test_an_evaluation_changes_nothing(self, task: Task) -> None:
        """Neither parameters nor mode; and it leaves no gradients."""
        net = task.net(SEED)
        before = torch.nn.utils.parameters_to_vector(net.parameters()).detach().clone()
        assert net.training
        task.evaluate(net)
        assert net.training
        assert torch.equal(torch.nn.utils.parameters_to_vector(net.parameters()).detach(), before)
        assert all(parameter.grad is None for parameter in net.parameters())

    def test_work_is_a_positive_multiple(self, task: Task) -> None:
        """Of 1 on average, within a factor of two, and the same whenever it is asked for."""
        found = [task.work(worker, number, SEED) for worker in range(20) for number in range(20)]
        assert all(0.0 < value < math.inf for value in found)
        assert 0.5 < np.mean(found) < 2.0
        assert task.work(3, 4, SEED) == found[3 * 20 + 4]
