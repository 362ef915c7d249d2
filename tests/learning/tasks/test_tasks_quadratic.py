"""The bowl against its closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tailcut.errors import ParameterError
from tailcut.learning.tasks.quadratic import Point, Quadratic


def gradients(task: Quadratic, net: torch.nn.Module, samples: int) -> torch.Tensor:
    """`(samples, dimension)` each sample's own gradient."""
    (noise,) = task.batches(np.array([4]), np.array([9]), samples, seed=3)
    (point,) = net.parameters()

    def loss(at: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
        return task.losses(lambda n: at.expand(len(n), -1), (one[None],))[0]

    return torch.func.vmap(torch.func.grad(loss), (None, 0))(point.detach(), noise)


@pytest.mark.parametrize("noise", ["white", "curvature"])
def test_the_noise_scale_is_that_of_the_gradients(noise: str) -> None:
    task = Quadratic(dimension=30, condition=20.0, sigma=0.7, noise=noise)  # type: ignore[arg-type]
    net = task.net(1)
    found = gradients(task, net, 20_000).double()
    away = next(net.parameters()).detach().double() - task.optimum.double()
    slope = task.curvatures.double() * away
    total = 0.7**2 * (30.0 if noise == "white" else float(task.curvatures.sum()))
    assert task.noise_scale(net) == pytest.approx(total / float((slope**2).sum()), rel=1e-6)
    assert float(found.var(0).sum()) == pytest.approx(total, rel=0.02)
    # The mean of 20,000 gradients is the slope, to five standard errors along every axis.
    assert ((found.mean(0) - slope).abs() < 5 * found.std(0) / math.sqrt(20_000)).all()


def test_the_loss_is_exact() -> None:
    task = Quadratic(dimension=4, condition=1000.0)
    assert task.curvatures.tolist() == pytest.approx([1.0, 0.1, 0.01, 0.001], rel=1e-5)
    net = Point(task.optimum + torch.tensor([1.0, 2.0, 3.0, 4.0]))
    assert task.evaluate(net)["loss"] == pytest.approx(0.5 * (1 + 0.4 + 0.09 + 0.016), rel=1e-5)


def test_at_the_optimum_there_is_no_loss_and_only_noise() -> None:
    task = Quadratic()
    net = Point(task.optimum.clone())
    assert task.evaluate(net) == {"loss": 0.0, "noise_scale": math.inf}
    assert task.target.reached(task.evaluate(net))


def test_runs_begin_with_half_the_trace_on_average() -> None:
    task = Quadratic(dimension=50, goal=0.02)
    starts = [task.evaluate(task.net(seed))["loss"] for seed in range(400)]
    half = 0.5 * float(task.curvatures.sum())
    assert np.mean(starts) == pytest.approx(half, abs=5 * np.std(starts) / 20)
    assert task.target.value == pytest.approx(0.02 * half)


def test_gradient_descent_follows_the_closed_form() -> None:
    task = Quadratic(dimension=10, sigma=1e-6)
    net = task.net(0)
    start = next(net.parameters()).detach().clone() - task.optimum
    optimiser = torch.optim.SGD(net.parameters(), lr=0.3)
    for number in range(20):
        batch = task.batches(np.arange(2), np.full(2, number), 4, seed=0)
        optimiser.zero_grad()
        task.losses(net, batch).mean().backward()
        optimiser.step()
    expected = task.optimum + start * (1 - 0.3 * task.curvatures) ** 20
    torch.testing.assert_close(next(net.parameters()).detach(), expected, rtol=1e-4, atol=1e-4)


def test_plain_sgd_arrives() -> None:
    task = Quadratic()
    net = task.net(0)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.5)
    for number in range(40):
        optimiser.zero_grad()
        task.losses(net, task.batches(np.arange(32), np.full(32, number), 8, seed=0)).mean().backward()
        optimiser.step()
    assert task.target.reached(task.evaluate(net))


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch": 0},
        {"dimension": 0},
        {"dimension": 2.5},
        {"condition": 0.5},
        {"condition": math.inf},
        {"sigma": 0.0},
        {"sigma": math.nan},
        {"goal": -1.0},
        {"noise": "pink"},
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Quadratic(**wrong)  # type: ignore[arg-type]
