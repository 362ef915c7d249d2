"""A training on servers, from its plan to what came of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from tailcut.acceptance import SYNCHRONOUS, Acceptance
from tailcut.engines.servers.actors import CONTROL, Prepare, ShardActor, WorkerActor, prepare_nothing
from tailcut.engines.servers.computing import Setting, net_of
from tailcut.engines.servers.course import Course
from tailcut.engines.servers.driver import Driver
from tailcut.engines.servers.looks import Look, Looks
from tailcut.engines.servers.reckoning import Reckoning
from tailcut.engines.servers.shards import Manifest, Shards
from tailcut.engines.servers.slices import Slices, mask_of
from tailcut.events import Settle
from tailcut.learning.flat import FlatNet
from tailcut.learning.recipe import Recipe
from tailcut.learning.tasks.base import Target
from tailcut.policy import Decider
from tailcut.round import Rounds
from tailcut.types import RoundRecord, Seconds, WorkerId


@final
@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What to train, and how.

    Attributes:
        setting: the task, its data, delays.
        policy: decides when to stop waiting. acceptance: which gradients count.
        recipe: how gradients become updates.
        workers: processes that compute. servers: that hold the parameters.
        updates: after which it ends. target: at which it ends before; None for never.
        every: updates between two looks at the net.
        late_finish: whether late workers finish (True) or drop their work at the next micro-batch.
        prepare: is called in every new process.
    """

    setting: Setting
    policy: Decider
    recipe: Recipe
    workers: int
    servers: int = 1
    acceptance: Acceptance = SYNCHRONOUS
    updates: int = 200
    target: Target | None = None
    every: int = 10
    late_finish: bool = True
    prepare: Prepare = prepare_nothing


@final
@dataclass(slots=True, eq=False)
class Result:
    """What came of it.

    Attributes:
        rounds: closed, in order. settled: gradients that came after their close.
        made: `(updates,)` seconds at which each update was there, since the first round opened.
        looks: at the net.
        parameters: at the end.
    """

    rounds: list[RoundRecord] = field(default_factory=list)
    settled: list[Settle] = field(default_factory=list)
    made: list[Seconds] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    parameters: Any = None


def train(
    ray: Any,
    plan: Plan,
    say: Callable[[str], None] = lambda line: None,
    clock: Callable[[], Seconds] = time.monotonic,
) -> Result:
    """Carry a plan out on a cluster that is there.

    Args:
        ray: the package, connected.
        plan: what to do.
        say: is told how it goes.
        clock: seconds.
    """
    return asyncio.run(_trained(ray, plan, say, clock))


async def _trained(ray: Any, plan: Plan, say: Callable[[str], None], clock: Callable[[], Seconds]) -> Result:
    task = plan.setting.task()
    net = net_of(task, plan.setting.seed)
    slices = Slices(net.vector.numel(), plan.servers)
    shards = Shards(_shard_actors(ray, plan, net, slices, task.noise_of), say)
    found = Result()
    rounds = Rounds(plan.policy, plan.acceptance, plan.late_finish)
    course = Course(rounds, found.rounds.append, found.settled.append)
    goal = plan.target
    looks = Looks(
        task, plan.setting.seed, ray.get, goal, plan.every, plan.updates, lambda look: say(_line(look))
    )

    def after_update(manifest: Manifest) -> bool:
        found.made.append(clock() - found.rounds[0].opened)
        looks.offer(manifest, found.made[-1])
        return looks.arrived

    worker_class = ray.remote(
        max_restarts=-1, max_task_retries=0, num_cpus=1, concurrency_groups={CONTROL: 1}
    )(WorkerActor)

    def hire(worker: WorkerId) -> Any:
        return worker_class.remote(plan.setting, worker, plan.servers, plan.prepare)

    driver = Driver(
        course,
        Reckoning(plan.recipe, plan.workers, plan.setting.batch),
        shards,
        hire,
        lambda actor: ray.kill(actor),
        plan.workers,
        plan.updates,
        after_update=after_update,
        look=lambda now: None,
        clock=clock,
    )
    looking = asyncio.get_running_loop().create_task(looks.work())
    vector = net.vector.numpy()
    parameters = tuple(ray.put(vector[piece]) for piece in slices.all)
    first = Manifest(0, parameters, tuple(ray.put({}) for _ in slices.all))
    looks.offer(first, 0.0)
    try:
        await driver.run(first)
        await looks.finish()
    finally:
        looking.cancel()
    assert shards.manifest is not None
    found.looks = looks.taken
    found.parameters = np.concatenate(ray.get(list(shards.manifest.parameters)))
    return found


def _shard_actors(ray: Any, plan: Plan, net: FlatNet, slices: Slices, noise_of: str) -> list[Any]:
    telling = mask_of(*net.layout, noise_of)
    shard_class = ray.remote(max_restarts=-1, max_task_retries=0, num_cpus=1)(ShardActor)
    return [
        shard_class.remote(number, plan.recipe.optimiser, telling[piece], plan.prepare)
        for number, piece in enumerate(slices.all)
    ]


def _line(look: Look) -> str:
    figures = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in look.figures.items())
    return f"{look.seconds:5.1f} s, {look.version} updates: {figures}"
