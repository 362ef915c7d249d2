"""Whole nodes lost: parameters that are gone are taken from a checkpoint; gradients that are gone are not added."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import Claim
from benchmarks.servers.job import task
from benchmarks.servers.nodes import SERVERS, WORKERS, Nodes, nodes
from tailcut import names
from tailcut.engines.servers.computing import Setting
from tailcut.engines.servers.plan import Plan, Result
from tailcut.engines.servers.train import train
from tailcut.engines.slow.delays import Delays
from tailcut.learning.recipe import Recipe
from tailcut.policy import Policy
from tailcut.testing.servers_replay import replayed

EVERY, DEATH, MORE = 10, 25, 10
"""Updates between two checkpoints, before the node is lost, and after that."""
SAME = 1e-4
"""Parameters that are closer than this were made of the same gradients; they are added up in another order."""


def plan() -> Plan:
    """A net whose pieces are too large to be sent along with news: two workers, two servers, on nodes of their own."""
    policy = names.entrant("wait-all").policy
    assert isinstance(policy, Policy)
    setting = Setting(partial(task, 2000), 8, 0, 1, Delays(np.full((1, 2), 0.05)))
    needs: dict[str, Any] = {"worker_needs": {WORKERS: 1}, "server_needs": {SERVERS: 1}}
    recipe = Recipe(0.1, optimiser="momentum")
    return Plan(setting, policy, recipe, 2, 2, updates=100_000, every=100_000, keep_every=EVERY, **needs)


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    return [claim for _ in range(max(1, repeats // 5)) for claim in (servers_lost(), gradients_lost())]


def servers_lost() -> Claim:
    """The node of all shards is lost; another one is there to take them."""
    said: list[str] = []
    with nodes({WORKERS: 2}) as cluster, tempfile.TemporaryDirectory() as folder:
        first = cluster.add(**{SERVERS: 2})
        lost: list[int] = []

        def look(driver: Any) -> None:
            if driver.version >= DEATH and not lost:
                cluster.add(**{SERVERS: 2})
                cluster.lose(first)
                lost.append(driver.version)
            driver.over |= bool(driver.returns) and driver.version >= lost[0] + MORE

        kept = replace(plan(), checkpoints=Path(folder))
        result = train(cluster.ray, kept, say=said.append, meanwhile=look)
    versions, apart = [record.version for record in result.rounds], from_one_process(result)
    back = result.returns[0] if result.returns else None
    good = back is not None and lost[0] - 2 * EVERY <= back <= lost[0] and versions[-1] >= lost[0] + MORE - 1
    return Claim(
        "the node of all shards lost: back to one checkpoint, and on from there",
        f"lost at version {lost}, back at {back}, ended at {result.version}, {apart:.1e} from one process",
        good and apart < SAME,
    )


def gradients_lost() -> Claim:
    """The node of the workers is lost when their gradients were accepted, and before the shards had fetched them."""
    with nodes({SERVERS: 2}) as cluster:
        first = cluster.add(**{WORKERS: 2})
        lost: list[int] = []
        came: dict[int, int] = {}

        def hear(done: Any) -> None:
            version = done.came.job.version
            came[version] = came.get(version, 0) + 1
            if version >= DEATH and came[version] == 2 and not lost:
                _replace(cluster, first)
                lost.append(version)

        def look(driver: Any) -> None:
            driver.over |= bool(lost) and driver.version >= lost[0] + MORE

        result = train(cluster.ray, plan(), heard=hear, meanwhile=look)
    versions, apart = [record.version for record in result.rounds], from_one_process(result)
    good = (
        versions == list(range(len(versions))) and set(result.skipped) == {lost[0] + 1} and not result.returns
    )
    return Claim(
        "accepted gradients lost with their node: no shard adds them, the version goes on",
        f"lost at version {lost}, skipped {sorted(result.skipped)}, ended at {result.version}, "
        f"{apart:.1e} from one process",
        good and apart < SAME,
    )


def from_one_process(result: Result) -> float:
    """Return the largest difference from the parameters that one process makes of the same accepted sets.

    Where a version was made again, its last record counts; a version whose gradients were lost is skipped.
    """
    it = plan()
    last = {record.version: record for record in result.rounds if record.version < result.version}
    skipped = {version - 1 for version in result.skipped}
    there = replayed([last[v] for v in sorted(last)], it.setting, it.recipe, it.workers, skipped)
    return float(np.abs(there - result.parameters).max())


def _replace(cluster: Nodes, node: Any) -> None:
    cluster.add(**{WORKERS: 2})
    cluster.lose(node)
