"""A task small enough to be checked by hand, and what tests of training share."""

from __future__ import annotations

from typing import final

import numpy as np
import torch
from torch import Tensor

from tailcut.acceptance import SYNCHRONOUS, Acceptance
from tailcut.clusters.presets import PRESETS
from tailcut.engines.simulated import updates
from tailcut.learning import draws
from tailcut.learning.recipe import Recipe
from tailcut.learning.tasks.base import Batch, Predict, Target, Task
from tailcut.learning.trainer import Trainer
from tailcut.policy import Policy
from tailcut.table import Table
from tailcut.types import IntArray
from tailcut.work import Update

BATCH = 4


@final
class Plain(Task):
    """Points in the plane, two classes, a net of one hidden layer in double precision."""

    def __init__(self, norm: bool = False, one_pass: bool = True, power: int = 1, noise_of: str = "") -> None:
        rng = np.random.default_rng(0)
        self.inputs = torch.tensor(rng.standard_normal((200, 2)))
        self.labels = (self.inputs.prod(dim=1) > 0).long()
        self._norm, self._one_pass, self._power = norm, one_pass, power
        self._noise_of = noise_of

    @property
    def target(self) -> Target:
        return Target("accuracy", 0.9, "least")

    @property
    def noise_of(self) -> str:
        return self._noise_of

    def net(self, seed: int) -> torch.nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            first = [
                torch.nn.Linear(2, 8),
                *([torch.nn.BatchNorm1d(8)] if self._norm else []),
                torch.nn.Tanh(),
            ]
            return torch.nn.Sequential(*first, torch.nn.Linear(8, 2)).double()

    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        samples = np.arange(size)
        rows = draws.below(len(self.inputs), seed, workers[:, None], numbers[:, None], samples[None, :])
        chosen = torch.from_numpy(rows.ravel())
        return self.inputs[chosen], self.labels[chosen]

    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        each: Tensor = torch.nn.functional.cross_entropy(predict(batch[0]), batch[1], reduction="none")
        return each**self._power

    def evaluate(self, net: torch.nn.Module) -> dict[str, float]:
        out = net(self.inputs)
        loss = torch.nn.functional.cross_entropy(out, self.labels)
        return {"loss": float(loss), "accuracy": float((out.argmax(dim=1) == self.labels).double().mean())}

    @property
    def one_pass(self) -> bool:
        return self._one_pass


def table_of(cluster: str, rounds: int, seed: int = 0, **parameters: object) -> Table:
    """Run times of a named cluster."""
    return PRESETS[cluster].factory(**parameters).sample(rounds, np.random.default_rng(seed)).table


def closed(
    table: Table, policy: Policy, acceptance: Acceptance = SYNCHRONOUS, most: int | None = None
) -> list[Update]:
    """The updates of a policy."""
    return list(
        updates(
            table, policy, acceptance=acceptance, micro=policy.micro, sees_all=policy.sees_all, rounds=most
        )
    )


def trainer_of(
    recipe: Recipe, workers: int, task: Task | None = None, keeps: bool = False, seed: int = 0
) -> Trainer:
    """A fresh trainer of the plain task."""
    return Trainer(task or Plain(), recipe, workers, BATCH, seed, keeps)


class Reference:
    """Plain torch in one process: one net, one batch after the other."""

    def __init__(self, task: Task, optimiser: str, rate: float, seed: int = 0) -> None:
        self.task, self.seed = task, seed
        self.net = task.net(seed)
        make = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}
        self.optimiser = (
            torch.optim.SGD(self.net.parameters(), lr=rate, momentum=0.9)
            if optimiser == "momentum"
            else make[optimiser](self.net.parameters(), lr=rate)
        )

    def step(self, workers: list[int], numbers: list[int]) -> None:
        batch = self.task.batches(np.array(workers), np.array(numbers), BATCH, self.seed)
        self.optimiser.zero_grad()
        self.task.losses(self.net, batch).mean().backward()
        self.optimiser.step()

    def vector(self) -> Tensor:
        return torch.cat([each.detach().reshape(-1) for each in self.net.parameters()])
