"""Balancing a pole by policy gradient: the data depend on the parameters, as in all reinforcement learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from tailcut.extras import require
from tailcut.learning import draws
from tailcut.learning.nets import seeded
from tailcut.learning.tasks.base import Batch, Predict, Target, Task
from tailcut.learning.tasks.checks import between, whole
from tailcut.learning.tasks.data import judging
from tailcut.types import BoolArray, FloatArray, IntArray

START, ACTION, JUDGE_SEED = 11, 12, 20_140_614
SCALE = (2.4, 2.0, 0.21, 2.0)
"""Scales of position, velocity, angle and angular velocity, so that the net's inputs are about 1."""


class Actor(nn.Module):
    """`(…, 4)` states to `(…, 3)`: log-odds of pushing left and right, and the value of the state."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(SCALE), persistent=False)
        self.scale: Tensor
        self.policy = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        self.value = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, states: Tensor) -> Tensor:
        """Return log-odds and value; the value is in units of the largest possible one."""
        scaled = states / self.scale
        return torch.cat((self.policy(scaled), self.value(scaled)), -1)


@dataclass(frozen=True, slots=True, eq=False)
class Episodes:
    """Played episodes, arrays over `(steps, episodes)`.

    Attributes:
        states: `(steps, episodes, 4)`.
        actions: 0 or 1.
        alive: whether the pole still stood before that step.
    """

    states: Tensor
    actions: IntArray
    alive: BoolArray


@final
@dataclass(frozen=True, slots=True)
class Cartpole(Task):
    """Balancing a pole by policy gradient (gymnasium's CartPole).

    REINFORCE with a learned baseline; a sample is one episode, a batch holds their seeds. The loss of an
    episode, whose gradient is the policy gradient, with G_t the discounted return and V the net's forecast:
    mean over `steps` of −log π(a_t | s_t)·(G_t − V(s_t)) + ½·(G_t − V(s_t))², both in units of 1/(1 − discount).

    Attributes:
        batch: episodes in a worker's mini-batch.
        hidden: units of the hidden layer of the policy, and of that of the value.
        steps: length of the longest episode.
        discount: discount factor of later rewards.
        episodes: number of episodes in an evaluation.
        goal: mean return, at most `steps`, at which a run has reached its target.
    """

    batch: int = 1
    hidden: int = 32
    steps: int = 200
    discount: float = 0.98
    episodes: int = 100
    goal: float = 180.0

    def __post_init__(self) -> None:
        for name in ("batch", "hidden", "episodes"):
            whole(name, getattr(self, name))
        whole("steps", self.steps, high=100_000)
        between("discount", self.discount, 0.0, 0.9999)
        between("goal", self.goal, 1.0, self.steps)
        _vector_env()

    @property
    def target(self) -> Target:
        """The mean return to reach."""
        return Target("mean_return", self.goal, "least")

    @property
    def one_pass(self) -> bool:
        """Return False: the episodes depend on the parameters."""
        return False

    @property
    def noise_of(self) -> str:
        """The prefix of the policy's parameters; gradients of the value are less noisy."""
        return "policy"

    def net(self, seed: int) -> nn.Module:
        """Make a net with a policy and a forecast of the return."""
        return seeded(lambda: Actor(self.hidden), seed)

    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        """`(k · size,)` seeds of episodes."""
        keys = draws.mixed(seed, workers[:, None], numbers[:, None], np.arange(size)).ravel()
        return (torch.from_numpy(keys.view(np.int64)),)

    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        """Return the `(episodes,)` losses of episodes played with the current parameters."""
        (keys,) = batch
        with torch.no_grad():
            played = play(predict, keys.numpy(), self.steps)
        alive = torch.from_numpy(played.alive).float()
        returns = torch.from_numpy(discounted(played.alive, self.discount)).float()
        outputs = predict(played.states)
        log_chance = log_softmax(outputs[..., :2], -1)
        chosen = log_chance.gather(-1, torch.from_numpy(played.actions)[..., None]).squeeze(-1)
        surprise = returns - outputs[..., 2]
        steps = alive * (0.5 * surprise**2 - chosen * surprise.detach())
        return steps.sum(0) / self.steps

    def evaluate(self, net: nn.Module) -> dict[str, float]:
        """Return the mean return over fixed seeds of episodes; the loss is its relative gap to `steps`."""
        keys = draws.mixed(JUDGE_SEED, np.arange(self.episodes)).view(np.int64)
        with judging(net):
            mean = float(play(net, keys, self.steps).alive.sum(0).mean())
        return {"loss": 1.0 - mean / self.steps, "mean_return": mean}


def play(predict: Predict, keys: IntArray, steps: int) -> Episodes:
    """Play episodes until all poles have fallen; the keys `(episodes,)` seed the starts and the actions."""
    env = _vector_env()(num_envs=len(keys), max_episode_steps=steps)
    env.reset(seed=0)
    # Each start depends on its key alone; gymnasium would draw all of them from one generator.
    env.state = 0.1 * draws.uniform(START, keys, np.arange(4)[:, None]) - 0.05
    toss = draws.uniform(ACTION, keys, np.arange(steps)[:, None])
    seen, alive = env.state.T.astype(np.float32), np.ones(len(keys), dtype=np.bool_)
    states, actions, alives = [], [], []
    for step in range(steps):
        states.append(torch.from_numpy(seen))
        right = torch.softmax(predict(states[-1])[:, :2], -1)[:, 1].numpy()
        actions.append((toss[step] < right).astype(np.int64))
        alives.append(alive)
        seen, _, fallen, over, _ = env.step(actions[-1])
        alive = alive & ~fallen & ~over
        if not alive.any():
            break
    return Episodes(torch.stack(states), np.stack(actions), np.stack(alives))


def discounted(alive: BoolArray, discount: float) -> FloatArray:
    """Return `(steps, episodes)` discounted sums of future rewards, in units of the largest possible sum."""
    out = np.zeros(alive.shape)
    later = np.zeros(alive.shape[1])
    for step in reversed(range(len(alive))):
        later = alive[step] * (1 - discount + discount * later)
        out[step] = later
    return out


def _vector_env() -> Any:
    require("The task cartpole", "gymnasium")
    from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

    return CartPoleVectorEnv
