"""Balancing a pole: episodes by their keys, returns against brute force, and that it can be learnt."""

from __future__ import annotations

import sys

import gymnasium
import numpy as np
import pytest
import torch
from torch import Tensor

from tailcut.errors import MissingExtraError, ParameterError
from tailcut.learning import draws
from tailcut.learning.tasks.cartpole import ACTION, START, Cartpole, discounted, play

KEYS = np.array([5, -17, 2**62], dtype=np.int64)


def leaning(states: Tensor) -> Tensor:
    """Pushes where the pole falls, nearly always; says nothing of the value."""
    push = 8.0 * (states[..., 2] + states[..., 3])
    return torch.stack((-push, push, torch.zeros_like(push)), -1)


def test_episodes_are_those_of_the_plain_environment() -> None:
    played = play(leaning, KEYS, steps=80)
    for column, key in enumerate(KEYS):
        env = gymnasium.make("CartPole-v1").unwrapped
        env.reset(seed=0)
        env.state = 0.1 * draws.uniform(START, int(key), np.arange(4)) - 0.05  # type: ignore[attr-defined]
        seen = np.array(env.state, dtype=np.float32)  # type: ignore[attr-defined]
        for step in range(80):
            assert played.alive[step, column]
            np.testing.assert_allclose(played.states[step, column].numpy(), seen, rtol=1e-4, atol=1e-5)
            right = float(torch.softmax(leaning(torch.from_numpy(seen))[:2], -1)[1])
            action = int(draws.uniform(ACTION, int(key), step) < right)
            assert action == played.actions[step, column]
            seen, _, fallen, _, _ = env.step(action)
            if fallen:
                assert not played.alive[step + 1 :, column].any()
                break


def test_an_episode_is_the_same_in_any_company() -> None:
    together = play(leaning, KEYS, steps=40)
    alone = play(leaning, KEYS[1:2], steps=40)
    steps = int(alone.alive.sum())
    assert torch.equal(together.states[:steps, 1], alone.states[:steps, 0])


def test_returns_are_the_discounted_sums() -> None:
    alive = np.arange(6)[:, None] < np.array([6, 1, 3])
    found = discounted(alive, 0.9)
    for column, length in enumerate((6, 1, 3)):
        for step in range(6):
            rest = max(length - step, 0)
            assert found[step, column] == pytest.approx(0.1 * sum(0.9**k for k in range(rest)))


def test_the_gradient_is_that_of_reinforce() -> None:
    task = Cartpole(steps=30, goal=30.0, discount=0.9)
    net = task.net(3)
    keys = torch.from_numpy(KEYS)
    found = torch.autograd.grad(task.losses(net, (keys,)).sum(), list(net.parameters()))
    with torch.no_grad():
        played = play(net, KEYS, 30)
    returns = discounted(played.alive, 0.9)
    loss = torch.zeros(())
    for step, column in zip(*np.nonzero(played.alive), strict=True):
        left, right, value = net(played.states[step, column])
        chosen = torch.log_softmax(torch.stack((left, right)), 0)[played.actions[step, column]]
        surprise = float(returns[step, column]) - value
        loss = loss + (0.5 * surprise**2 - chosen * surprise.detach()) / 30
    for one, other in zip(found, torch.autograd.grad(loss, list(net.parameters())), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-6)


def test_the_loss_is_what_misses_to_the_longest_episode() -> None:
    task = Cartpole(episodes=20, steps=100, goal=90.0)
    figures = task.evaluate(task.net(0))
    assert 8.0 < figures["mean_return"] < 40.0
    assert figures["loss"] == pytest.approx(1 - figures["mean_return"] / 100)


def test_it_can_be_learnt() -> None:
    task = Cartpole(steps=100, goal=90.0, episodes=40)
    net = task.net(0)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.03)
    for number in range(25):
        optimiser.zero_grad()
        task.losses(net, task.batches(np.arange(48), np.full(48, number), 1, seed=0)).mean().backward()
        optimiser.step()
    assert task.target.reached(task.evaluate(net))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtraError, match=r'needs gymnasium.*pip install "tailcut\[gym\]"'):
        Cartpole()


@pytest.mark.parametrize(
    "wrong", [{"steps": 0}, {"discount": 1.0}, {"goal": 201.0}, {"episodes": 0}, {"batch": True}]
)
def test_impossible_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Cartpole(**wrong)  # type: ignore[arg-type]
