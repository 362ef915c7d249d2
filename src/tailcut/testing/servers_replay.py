"""Replays the updates of accepted sets in one process and one piece, by the engine's own arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from tailcut.engines.servers.computing import Computing, Setting, net_of
from tailcut.engines.servers.orders import Job
from tailcut.engines.servers.pieces import Piece, Vector
from tailcut.engines.servers.reckoning import Reckoning
from tailcut.engines.servers.shard import Shard
from tailcut.learning.recipe import Recipe
from tailcut.types import RoundRecord, WorkerId


def replayed(
    rounds: Iterable[RoundRecord],
    setting: Setting,
    recipe: Recipe,
    workers: int,
    skipped: Collection[int] = (),
    jobs_of: Callable[[RoundRecord], Sequence[Job]] | None = None,
) -> Vector:
    """Make every update again, one after another.

    Args:
        rounds: rounds of a run from its beginning, each once, in order.
        setting: the training; delays are left out.
        recipe: the way from gradients to updates.
        workers: number of workers when all take part.
        skipped: versions of rounds of which no gradient was added.
        jobs_of: returns the jobs whose gradients a round accepted, in order of arrival; None for a
            synchronous run, where the record says them.

    Returns:
        `(parameters,)` after the last round.
    """
    prompt = Setting(setting.task, setting.batch, setting.seed)
    vector = net_of(setting.task(), setting.seed).vector.numpy().copy()
    shard = Shard(0, recipe.optimiser, np.ones(len(vector), dtype=np.bool_))
    shard.give(Piece(0, vector, {}))
    reckoning = Reckoning(recipe, workers, setting.batch)
    desks: dict[WorkerId, Computing] = {}
    versions: list[Vector] = []
    for record in rounds:
        if record.version != shard.piece().version:
            raise ValueError(
                f"Round {record.version} comes after version {shard.piece().version}. Give each round once, in order."
            )
        if (record.shares[record.accepted > 0] < 1.0).any():
            raise ValueError(
                f"Round {record.version} took parts of mini-batches, which are not made again here."
            )
        jobs = [] if record.version in skipped else (jobs_of or _jobs)(record)
        versions.append(shard.piece().vector.copy())
        for job in jobs:
            if job.worker not in desks:
                desks[job.worker] = Computing(prompt, job.worker, 1)
        done = [desks[job.worker].compute(job, [versions[job.version]], lambda: False) for job in jobs]
        came, gradients = [came for came, _ in done], [gradient[0] for _, gradient in done]
        order = reckoning.order(0, record.version, came)
        if reckoning.clips and gradients:
            order = reckoning.clipped(order, [shard.weigh(order, gradients)])
        reckoning.made(order, came, [shard.apply(order, gradients)])
    return shard.piece().vector


def _jobs(record: RoundRecord) -> list[Job]:
    """Return the jobs whose gradients a synchronous round accepted, in order of arrival."""
    is_in = record.accepted > 0
    workers = record.roster.workers[is_in][np.argsort(record.arrivals[is_in], kind="stable")]
    return [Job(worker, record.version, record.version) for worker in workers.tolist()]
