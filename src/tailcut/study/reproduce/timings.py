"""Jobs without training: order statistics of a cluster, and policies on its run times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tailcut.bounds import best_static, clairvoyant
from tailcut.engines.simulated import Run
from tailcut.study.contest import contest
from tailcut.study.grid.makers import Makers
from tailcut.study.grid.prefit import prefit
from tailcut.study.parallel import Job
from tailcut.study.reproduce.experiment import Bench

CLAIRVOYANT, STATIC = "clairvoyant", "best-static"
"""Names of bounds, which `timed` takes in place of a policy's name."""
LAW_SEED = 3000
"""Seed of the run times from which laws are estimated; no run uses it."""


def order_means(makers: Makers, cluster: str, rounds: int) -> dict[str, list[float]]:
    """Return `(n,)` mean and median seconds of each order statistic of a cluster's run times."""
    ordered = np.sort(makers.source(cluster).draw(LAW_SEED, rounds).table.seconds, axis=1)
    return {"mean": ordered.mean(axis=0).tolist(), "median": np.median(ordered, axis=0).tolist()}


def timed(makers: Makers, cluster: str, policy: str, seed: int, rounds: int, warm_up: int) -> dict[str, Any]:
    """Run one policy, or a bound, on one sample of a cluster.

    Args:
        makers: functions that turn names into objects.
        cluster: name of the cluster.
        policy: name of a policy, or `clairvoyant`, or `best-static`.
        seed: seed of the sample.
        rounds: number of rounds in the sample.
        warm_up: number of first rounds that rates leave out.

    Returns:
        `workers`, `rate` in gradients per second after the warm-up, `idle` share, and round by round `counts` and
        `elapsed`.
    """
    draw = makers.source(cluster).draw(seed, rounds)
    found: dict[str, Any] = {}
    run: Run
    if policy == CLAIRVOYANT:
        run = clairvoyant(draw.table, draw.overhead).run
    elif policy == STATIC:
        fixed = best_static(draw.table, draw.overhead, skip=warm_up)
        run, found["setting"] = fixed.run, fixed.setting
    else:
        entrant = makers.entrant(policy)
        run = contest(draw.table, entrant, late_finish=False, overhead=draw.overhead).run
    return found | {
        "workers": draw.table.workers,
        "rate": run.throughput(warm_up),
        "idle": run.idle_share(warm_up),
        "counts": run.counts.tolist(),
        "elapsed": np.round(run.elapsed + run.overhead, 5).tolist(),
    }


def model_file(bench: Bench, cluster: str) -> Path:
    """Return the path of the published forecaster's model of a cluster."""
    return bench.models / f"{cluster.replace(':', '_')}.safetensors"


def model_jobs(bench: Bench, clusters: tuple[str, ...]) -> list[Job[str, Any]]:
    """Return jobs that train missing models, on run times that nothing else uses."""
    return [
        Job(f"models/{cluster}", prefit, (bench.makers.source, cluster, path))
        for cluster in clusters
        for path in [model_file(bench, cluster)]
        if not path.exists()
    ]


def published(bench: Bench, cluster: str, closed: bool = False) -> str:
    """Return the name of the published policy with a cluster's model; `closed` is for see=closed."""
    see = ":see=closed" if closed else ""
    return f"bdsgd{see}:model={model_file(bench, cluster)}"
