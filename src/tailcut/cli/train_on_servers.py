"""`tailcut train --engine ray`: the built-in tasks on parameter servers, arms one after the other on one cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from tailcut import names
from tailcut.cli.watching import shown
from tailcut.engines.live.train.job import Arm, Job
from tailcut.engines.live.train.summary import Trained
from tailcut.engines.records.listener import Listener
from tailcut.engines.records.start import asked_now, listeners
from tailcut.engines.slow.delays import Delays
from tailcut.engines.slow.ways import way
from tailcut.errors import ParameterError
from tailcut.policy import Policy

if TYPE_CHECKING:
    from tailcut.engines.servers.plan import Plan, Result
    from tailcut.learning.tasks.base import Target

STORE = 512 << 20
"""Size of the object store of a Ray cluster that is started here, in bytes."""
PAUSE = 0.25
"""Seconds between two refreshes of the live view."""


def check_arms(job: Job) -> None:
    """Refuse arms that parameter servers cannot train, before anything is started."""
    for arm in job.arms:
        if arm.is_ddp:
            raise ParameterError(
                "ddp has no servers: it is trained by --engine torch. Leave it out of --policy, or compare in two runs."
            )
        if not isinstance(names.entrant(arm.policy).policy, Policy):
            raise ParameterError(f"{arm.policy} knows run times beforehand, which no training does.")


def train_on_servers(
    job: Job,
    delays: Delays,
    goal: Target,
    servers: int,
    address: str | None,
    checkpoints: Path | None,
    say: Callable[[str], None],
) -> tuple[Trained, ...]:
    """Train every arm of a job; show what each worker does if there is a terminal and the run is recorded.

    Args:
        job: the training to carry out.
        delays: seconds by which each worker is delayed, mini-batch by mini-batch.
        goal: the figure at which an arm has reached its target.
        servers: number of parameter servers, each with one shard of the parameters.
        address: address of a Ray cluster; None starts one here.
        checkpoints: folder for checkpoints; None writes none.
        say: receives messages about the progress.
    """
    from tailcut.engines.servers.cluster import cluster, load_ray
    from tailcut.engines.servers.computing import net_of
    from tailcut.engines.servers.reaching import check_reachable
    from tailcut.engines.servers.slices import Slices
    from tailcut.engines.servers.train import train

    load_ray()
    check_reachable(address)
    Slices(net_of(names.task(job.task), job.seed).vector.numel(), servers)
    where = "here" if address is None else f"at {address}"
    say(f"Starting {job.workers} workers and {servers} servers on Ray {where} …")
    console = Console(stderr=True)
    folders = [Path(folder) for arm in job.arms if console.is_interactive and (folder := job.journal(arm))]
    found = []
    with cluster(address, job.workers + servers, STORE) as ray, shown(folders, console) as refresh:
        if folders:
            say = partial(console.print, markup=False, highlight=False)
        for arm in job.arms:
            told = partial(_told, say, arm)
            plan = _plan(job, arm, delays, goal, servers, checkpoints)
            result = train(ray, plan, say=told, listener=_listener(job, arm, told), meanwhile=_paced(refresh))
            found.append(_trained(arm, job, result, goal))
    return tuple(found)


def _paced(refresh: Callable[[], None]) -> Callable[[object], None]:
    """Return a function that calls `refresh` at most every `PAUSE` seconds, however often it is called."""
    due = 0.0

    def call(driver: object) -> None:
        nonlocal due
        del driver
        if time.monotonic() >= due:
            due = time.monotonic() + PAUSE
            refresh()

    return call


def _told(say: Callable[[str], None], arm: Arm, line: str) -> None:
    say(f"{arm.name:20} {line}")


def _plan(job: Job, arm: Arm, delays: Delays, goal: Target, servers: int, checkpoints: Path | None) -> Plan:
    from tailcut.engines.servers.computing import Setting
    from tailcut.engines.servers.plan import Plan
    from tailcut.learning.rates import RATES
    from tailcut.learning.recipe import Recipe

    entrant = names.entrant(arm.policy)
    assert isinstance(entrant.policy, Policy)
    # A policy that stops work between micro-batches gives their number itself.
    micro = entrant.policy.micro
    pieces = micro if micro > 1 else job.pieces if arm.until_closed else 1
    folder = checkpoints
    if folder is not None and len(job.arms) > 1:
        folder = folder / arm.name.replace(":", "_").replace("/", "_")
    return Plan(
        setting=Setting(
            partial(names.task, job.task), job.batch, job.seed, pieces, delays, way(job.slow_by), job.task
        ),
        policy=entrant.policy,
        acceptance=entrant.acceptance,
        recipe=Recipe(job.rate, RATES[job.rule], job.optimiser),
        workers=job.workers,
        servers=servers,
        updates=job.updates,
        target=None if job.target is None else goal,
        every=job.every,
        late_finish=not arm.until_closed,
        checkpoints=folder,
        policy_name=arm.policy,
    )


def _listener(job: Job, arm: Arm, say: Callable[[str], None]) -> Listener:
    late = "abandon" if arm.until_closed else "finish"
    asked = asked_now(arm.policy, job.rule, late, job.workers, job.updates, time.monotonic)
    folder = job.journal(arm)
    return listeners(asked, None if folder is None else Path(folder), None, say)


def _trained(arm: Arm, job: Job, result: Result, goal: Target) -> Trained:
    # Where an update was undone and repeated, only the last attempt counts.
    last = {
        record.version: (seconds, record) for seconds, record in zip(result.made, result.rounds, strict=False)
    }
    kept = [last[version] for version in sorted(last) if version < result.version]
    made = [seconds for seconds, _ in kept]
    counts = [0 if record.version + 1 in result.skipped else record.count for _, record in kept]
    reached = [look.seconds for look in result.looks if goal.reached(look.figures)]
    return Trained(
        arm=arm.name,
        workers=job.workers,
        updates=len(made),
        seconds=made[-1] if made else 0.0,
        gradients=sum(counts),
        begun=result.begun,
        idle=result.idle,
        to_target=reached[0] if reached else None,
        made=tuple(made),
        counts=tuple(counts),
        looks=tuple((look.version, look.seconds, look.figures) for look in result.looks),
    )
