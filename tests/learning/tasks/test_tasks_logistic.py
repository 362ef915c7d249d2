"""Logistic regression against another solver and against the gradients themselves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from tailcut.errors import ParameterError
from tailcut.learning.tasks.logistic import Logistic, Scored, newton, sample_gradients


def net_at(weights: np.ndarray) -> Scored:  # type: ignore[type-arg]
    net = Scored(len(weights))
    net.w.data = torch.from_numpy(weights).float()
    return net


@pytest.mark.parametrize("task", [Logistic(), Logistic(teacher=30.0, l2=1e-5, samples=300)])
def test_newton_finds_the_optimum_to_machine_precision(task: Logistic) -> None:
    inputs, signs = task.inputs.double().numpy(), task.signs.double().numpy()
    slope = sample_gradients(inputs, signs, task.optimum, task.l2).mean(0)
    assert np.abs(slope).max() < 1e-15
    other = minimize(task.loss_at, np.zeros(task.dimension), method="BFGS", options={"gtol": 1e-7})
    assert task.least <= other.fun + 1e-14
    assert task.least == pytest.approx(other.fun, abs=1e-9)


def test_labels_that_can_be_told_apart_have_an_optimum_too() -> None:
    x = np.array([[1.0], [2.0], [-1.0], [-3.0]])
    weights = newton(x, np.array([1.0, 1.0, -1.0, -1.0]), l2=1e-6)
    assert np.abs(sample_gradients(x, np.array([1.0, 1.0, -1.0, -1.0]), weights, 1e-6).mean(0)).max() < 1e-12


def test_the_gap_is_zero_at_the_optimum_and_nowhere_less() -> None:
    task = Logistic()
    assert task.evaluate(net_at(task.optimum))["gap"] == pytest.approx(0.0, abs=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(20):
        figures = task.evaluate(net_at(task.optimum + 0.1 * rng.standard_normal(task.dimension)))
        assert figures["gap"] > 0
        assert figures["loss"] == pytest.approx(task.least + figures["gap"], rel=1e-12)


def test_losses_and_gradients_are_those_of_the_formula() -> None:
    task = Logistic(dimension=5, samples=40)
    net = task.net(2)
    (weights,) = net.parameters()
    every = (task.inputs, task.signs)
    at = weights.detach().double().numpy()
    assert float(task.losses(net, every).mean().detach()) == pytest.approx(task.loss_at(at), rel=1e-5)
    expected = sample_gradients(task.inputs.double().numpy(), task.signs.double().numpy(), at, task.l2)
    task.losses(net, every).mean().backward()
    assert weights.grad is not None
    np.testing.assert_allclose(weights.grad.numpy(), expected.mean(0), rtol=1e-4, atol=1e-6)
    total = float(((expected - expected.mean(0)) ** 2).sum(1).mean())
    assert task.noise_scale(net) == pytest.approx(total / float((expected.mean(0) ** 2).sum()), rel=1e-5)


def test_skew_gives_workers_labels_of_their_own() -> None:
    task = Logistic(skew=1.0, of=2)
    _, signs = task.batches(np.array([0, 1]), np.array([0, 0]), 50, seed=0)
    split = int((task.signs < 0).sum())
    assert abs(split - 1000) < 150  # Labels are about even, so a half is nearly one label.
    assert (signs[:50] < 0).float().mean() > 0.8
    assert (signs[50:] > 0).float().mean() > 0.8


def test_plain_sgd_arrives() -> None:
    task = Logistic()
    net = task.net(0)
    optimiser = torch.optim.SGD(net.parameters(), lr=1.0)
    for number in range(150):
        optimiser.zero_grad()
        task.losses(net, task.batches(np.arange(158), np.full(158, number), 8, seed=0)).mean().backward()
        optimiser.step()
    assert task.target.reached(task.evaluate(net))


@pytest.mark.parametrize(
    "wrong", [{"samples": 0}, {"l2": 0.0}, {"teacher": -1.0}, {"skew": 2.0}, {"skew": 0.5}]
)
def test_impossible_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Logistic(**wrong)  # type: ignore[arg-type]
