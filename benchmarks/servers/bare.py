"""Measure the messages of a round in plain Ray, which every engine on Ray needs.

Parameters go out to all workers, which sleep and return a gradient each; one server takes the gradients and returns
parameters. Nothing is computed and nothing added up, and there are no policy, no tokens of tailcut's, no records.
"""

from __future__ import annotations

import asyncio
import time
from statistics import mean, median
from typing import Any, final

import numpy as np
import numpy.typing as npt

from benchmarks.servers.job import Rounds

PARAMETERS = 975_010
FIRST = 10
"""Rounds that are left out."""

Vector = npt.NDArray[np.float32]


@final
class _Worker:
    """An actor that sleeps and returns a constant gradient."""

    def __init__(self) -> None:
        self._gradient = np.ones(PARAMETERS, np.float32)

    def compute(self, parameters: Vector, seconds: float) -> tuple[float, Vector]:
        """Sleep, and return the run time in seconds and the gradient."""
        del parameters
        began = time.monotonic()
        time.sleep(seconds)
        return time.monotonic() - began, self._gradient


@final
class _Server:
    """An actor that takes gradients and returns constant parameters."""

    def __init__(self) -> None:
        self._parameters = np.ones(PARAMETERS, np.float32)

    def apply(self, *gradients: Vector) -> tuple[int, Vector]:
        """Return the number of gradients, and the parameters."""
        return len(gradients), self._parameters


def bare(ray: Any, workers: int, seconds: float, spread: float, rounds: int) -> Rounds:
    """Measure rounds of messages between workers and one server.

    Args:
        ray: the package, connected.
        workers: number of workers, all of which each round waits for.
        seconds: shortest sleep of a worker, in seconds.
        spread: largest extra sleep as a share of `seconds`; drawn anew for each sleep.
        rounds: number of rounds.
    """
    crew = [ray.remote(num_cpus=1)(_Worker).remote() for _ in range(workers)]
    server = ray.remote(num_cpus=1)(_Server).remote()
    try:
        sleeps = seconds * np.random.default_rng(1).uniform(1.0, 1.0 + spread, (rounds, workers))
        return asyncio.run(_course(crew, server, sleeps.tolist()))
    finally:
        for actor in (*crew, server):
            ray.kill(actor)


async def _course(crew: list[Any], server: Any, sleeps: list[list[float]]) -> Rounds:
    compute = [worker.compute.options(num_returns=2) for worker in crew]
    apply = server.apply.options(num_returns=2)
    count, parameters = apply.remote()
    await count
    ways, makes, steps = [], [], []
    for each in sleeps:
        opened = time.monotonic()
        came = [call.remote(parameters, seconds) for call, seconds in zip(compute, each, strict=True)]
        run_times = await asyncio.gather(*(run_time for run_time, _ in came))
        closed = time.monotonic()
        count, parameters = apply.remote(*(gradient for _, gradient in came))
        await count
        steps.append(time.monotonic() - opened)
        ways.append(closed - opened - max(run_times))
        makes.append(steps[-1] - (closed - opened))
    update = mean(steps[FIRST:])
    return Rounds(len(crew) / update, 1e3 * update, 1e3 * median(ways[FIRST:]), 1e3 * median(makes[FIRST:]))
