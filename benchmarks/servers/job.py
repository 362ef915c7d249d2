"""The net of the live benchmarks as a task, and a run of it on servers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import nn

from tailcut import names
from tailcut.engines.servers.cluster import cluster
from tailcut.engines.servers.computing import Setting
from tailcut.engines.servers.plan import Plan, Result
from tailcut.engines.servers.train import train
from tailcut.engines.slow.delays import Delays
from tailcut.learning.recipe import Recipe
from tailcut.learning.tasks.base import Task
from tailcut.learning.tasks.own import task_of
from tailcut.policy import Policy

SMALL = 13_000
"""Hidden units that make a net of one million parameters."""
STORE = 2 << 30
"""Bytes of the object store."""


def task(hidden: int) -> Task:
    """Random data and a net of one hidden layer."""
    rng = torch.Generator().manual_seed(0)
    inputs, labels = torch.randn(512, 64, generator=rng), torch.randint(10, (512,), generator=rng)
    return task_of(
        net=lambda: nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 10)),
        train=(inputs, labels),
        test=(inputs[:8], labels[:8]),
    )


@contextmanager
def local_cluster(processors: int) -> Iterator[Any]:
    """Ray on this machine; its processes find this package."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    with cluster(None, processors, STORE) as ray:
        yield ray


@dataclass(frozen=True, slots=True)
class Rounds:
    """Timings of a run in milliseconds without its first ten rounds; `way` and `make` are medians.

    Attributes:
        gradients: gradients used per second.
        update: time from one opening to the next.
        way: time from opening to close, less the slowest accepted worker's run time: jobs out, messages back.
        make: time from close to the next opening: shards fetch, add up, apply, and answer.
    """

    gradients: float
    update: float
    way: float
    make: float

    @property
    def overhead(self) -> float:
        """Milliseconds of a round beyond the run time of its slowest accepted worker."""
        return self.way + self.make


def measured(result: Result) -> Rounds:
    """Return the figures of a run."""
    rounds = result.rounds[10:]
    # Most asynchronous rounds have only gradients that were begun before.
    computed = [
        (
            r,
            [
                result.computed.get((worker, r.version))
                for worker in r.roster.workers[r.accepted > 0].tolist()
            ],
        )
        for r in rounds
    ]
    ways = [r.elapsed - max(filter(None, own)) for r, own in computed if any(own)] or [math.nan]
    gaps = [two.opened - one.opened - one.elapsed for one, two in pairwise(rounds)]
    steps = [two.opened - one.opened for one, two in pairwise(rounds)]
    used = sum(r.count for r in rounds[:-1]) / sum(steps)
    return Rounds(used, 1e3 * mean(steps), 1e3 * median(ways), 1e3 * median(gaps))


def run(
    ray: Any,
    policy: str = "wait-all",
    *,
    workers: int = 8,
    servers: int = 1,
    hidden: int = SMALL,
    seconds: float = 0.05,
    chance: float = 0.0,
    spread: float = 0.0,
    updates: int = 60,
    pieces: int = 1,
    more: Mapping[str, Any] = MappingProxyType({}),
    **hooks: Any,
) -> Result:
    """Make one run.

    Args:
        ray: the package, connected.
        policy: name of the policy.
        workers: processes that compute.
        servers: processes that hold the parameters.
        hidden: hidden units of the net.
        seconds: shortest sleep of a mini-batch, in seconds.
        chance: probability that a mini-batch takes nine times as long.
        spread: largest extra sleep as a share of `seconds`; drawn anew for each mini-batch.
        updates: number of updates.
        pieces: micro-batches after which a worker may drop its work; 1: it finishes.
        more: further fields of the plan.
        hooks: further arguments of the training.
    """
    entrant = names.entrant(policy)
    assert isinstance(entrant.policy, Policy)
    rng = np.random.default_rng(1)
    slow = np.where(rng.random((1000, workers)) < chance, 9.0, 1.0)
    slow *= rng.uniform(1.0, 1.0 + spread, slow.shape)
    setting = Setting(partial(task, hidden), 8, 0, pieces, Delays(seconds * slow))
    plan = Plan(
        setting,
        entrant.policy,
        Recipe(0.01),
        workers,
        servers,
        acceptance=entrant.acceptance,
        updates=updates,
        every=10 * updates,
        late_finish=pieces == 1,
        **more,
    )
    return train(ray, plan, **hooks)
