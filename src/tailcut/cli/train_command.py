"""`tailcut train`: the built-in tasks in real processes, under policies or plain DDP, with added delays."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tailcut import names
from tailcut.cli.arguments import command_line
from tailcut.cli.entry import FAILED, app, fail
from tailcut.cli.train_checks import (
    RESULT,
    TORCH,
    check_data,
    check_engine,
    check_names,
    check_outputs,
    check_workers,
)
from tailcut.cli.train_on_servers import train_on_servers
from tailcut.cli.watching import shown
from tailcut.engines.live.scratch import scratch_folder
from tailcut.engines.live.train.job import Job, arms_of, notes_file, write_job
from tailcut.engines.live.train.notes import read_notes
from tailcut.engines.live.train.summary import Trained, summary
from tailcut.engines.slow.delays import Delays, delays_of, no_delays
from tailcut.extras import LIVE, require
from tailcut.report.train import Training, training_table, write_training_page
from tailcut.study.source import Sampled, Source

if TYPE_CHECKING:
    from tailcut.learning.tasks.base import Target

ROWS = 2000
"""Number of mini-batches per worker whose delays are drawn; then the delays repeat."""
UPDATES = 200
"""Default number of updates, without a target."""
PATIENT_UPDATES = 10_000
"""Default for the most updates of a training that ends at a target."""
PRELOAD = (
    "tailcut.cli.train_command",
    "tailcut.engines.live.train.session",
    "tailcut.learning.tasks.presets",
    # Imports of the digits task and of the first optimizer in a process; each takes a second.
    "sklearn.datasets",
    "tailcut.learning.first_optimizer",
)
"""Modules that are imported once for all processes."""
PASSED = {
    "sleep": "passed asleep",
    "burn": "passed computing",
    "gil": "passed in C calls that keep Python's lock",
}


@app.command("train")
def train_command(
    workers: Annotated[
        int, typer.Option(help="Worker processes, on this machine unless --address names a cluster.")
    ] = 8,
    task: Annotated[str, typer.Option(help="What is trained; parameters as name:key=value.")] = "digits",
    policy: Annotated[
        str,
        typer.Option(
            help="Decides when to stop waiting; ddp for plain DistributedDataParallel. Several a,b,c are trained one "
            "after the other; a+until-closed looks up between micro-batches."
        ),
    ] = "bayes",
    until_closed: Annotated[
        bool, typer.Option("--until-closed", help="Every policy looks up between micro-batches.")
    ] = False,
    slow: Annotated[
        str | None, typer.Option(help="Hold workers up as this cluster or run-time table says.")
    ] = None,
    unit: Annotated[float, typer.Option(help="Seconds that a run time of 1 becomes.")] = 0.1,
    slow_by: Annotated[str, typer.Option(help="How they are held up: sleep, burn or gil.")] = "sleep",
    updates: Annotated[
        int | None, typer.Option(help="Ends after so many. Default: 200, or as many as a target takes.")
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="Ends when the task's figure is there, such as 0.95 accuracy.")
    ] = None,
    every: Annotated[int, typer.Option(help="Updates between two looks at the data kept back.")] = 10,
    lr: Annotated[float, typer.Option(help="Learning rate of an update with everybody in it.")] = 0.1,
    rate: Annotated[
        str, typer.Option(help="How it follows the accepted share: linear, sqrt, fixed, gain.")
    ] = "linear",
    optimiser: Annotated[str, typer.Option(help="sgd, momentum, adam or rmsprop.")] = "sgd",
    batch: Annotated[
        int | None, typer.Option(help="Samples in a worker's mini-batch. Default: the task's own.")
    ] = None,
    micro: Annotated[int, typer.Option(help="Micro-batches that until-closed looks up between.")] = 16,
    seed: Annotated[int, typer.Option(help="Of weights, data and delays.")] = 0,
    engine: Annotated[
        str, typer.Option(help="torch: processes that reduce among themselves; ray: parameter servers.")
    ] = "torch",
    servers: Annotated[int, typer.Option(help="Shards of the parameters, with --engine ray.")] = 1,
    address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster, as host:port or auto. Default: one is started here.")
    ] = None,
    checkpoints: Annotated[
        Path | None, typer.Option(help="Folder to keep versions in and to go on from, with --engine ray.")
    ] = None,
    journal: Annotated[
        Path | None, typer.Option(help="Folder to keep the run in; at a terminal it is then watched.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained page with plots here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON list on standard output.")] = False,
) -> None:
    """Train a built-in task for real, in processes on this machine that may be held up at will."""
    arms = arms_of(policy, until_closed)
    most = updates if updates is not None else UPDATES if target is None else PATIENT_UPDATES
    job = Job(
        task=task,
        arms=arms,
        workers=workers,
        updates=most,
        target=target,
        every=every,
        batch=1 if batch is None else batch,
        pieces=micro,
        rate=lr,
        rule=rate,
        optimiser=optimiser,
        slow_by=slow_by,
        seed=seed,
        journals=None if journal is None else str(journal.resolve()),
    )
    check_engine(engine, servers, address, checkpoints)
    check_workers(workers, address)
    engine_needs = LIVE if engine == TORCH else ("torch", "ray")
    page_needs = () if report is None else ("matplotlib",)
    require("tailcut train", *engine_needs, *names.task_modules(task), *page_needs)
    check_names(job, engine)
    source = None if slow is None else _source(slow, workers)
    delays = no_delays(workers) if source is None else _delays(source, workers, unit, seed)
    trained = names.task(task)
    job = replace(job, batch=trained.batch if batch is None else batch)
    check_data(job, trained)
    check_outputs(report, journal)
    goal = trained.target if target is None else replace(trained.target, value=target)
    found = Training(
        command=command_line(),
        setting=_setting(job, source, unit, address),
        goal=goal,
        arms=_carried_out(job, delays, goal)
        if engine == TORCH
        else train_on_servers(job, delays, goal, servers, address, checkpoints, _say),
    )
    _show(found, report, journal, as_json)


def _work(folder: Path) -> None:
    """Run one worker process."""
    from tailcut.engines.live.train.session import run_worker

    run_worker(folder, names.task, _say)


def _source(slow: str, workers: int) -> Source:
    """Return the named table or cluster; a cluster gets as many workers as the job unless it names `n=`."""
    source, most = names.source(slow), max(workers, 2)  # A cluster has at least two workers.
    told = any(part.startswith("n=") for part in slow.split(":")[1:])
    if not isinstance(source, Sampled) or told or source.cluster.workers == most:
        return source
    return names.source(f"{slow}:n={most}")


def _delays(source: Source, workers: int, unit: float, seed: int) -> Delays:
    table = source.draw(seed, ROWS if isinstance(source, Sampled) else None).table
    return delays_of(replace(table, source=source.name), workers, unit)


def _carried_out(job: Job, delays: Delays, goal: Target) -> tuple[Trained, ...]:
    """Train in separate processes, and summarize the notes that they wrote."""
    with scratch_folder() as folder:
        write_job(folder, job, delays)
        _say(f"Starting {job.workers} processes …")
        if _run(job, partial(_work, folder)):
            fail("A worker process failed, so all were ended; what it said stands above.", FAILED)
        return tuple(
            summary(
                arm.name,
                [read_notes(notes_file(folder, place, worker)) for worker in range(job.workers)],
                goal,
                in_backward=arm.is_ddp,
            )
            for place, arm in enumerate(job.arms)
        )


def _run(job: Job, work: Callable[[], None]) -> int:
    """Train in processes; show what each of them does if there is a terminal and the run is recorded."""
    from tailcut.engines.live.train.processes import in_processes

    console = Console(stderr=True)
    folders = [Path(folder) for arm in job.arms if not arm.is_ddp and (folder := job.journal(arm))]
    if not (folders and console.is_interactive):
        return in_processes(work, job.workers, PRELOAD)
    with shown(folders, console) as refresh:
        tell = partial(console.print, markup=False, highlight=False)
        return in_processes(work, job.workers, PRELOAD, tell=tell, meanwhile=refresh)


def _setting(job: Job, source: Source | None, unit: float, address: str | None) -> str:
    where = "processes on this machine" if address is None else f"workers on the Ray cluster at {address}"
    if address == "auto":
        where = "workers on the Ray cluster of this machine"
    trained = (
        f"{job.task}, {job.workers} {where}, {job.batch} samples in a mini-batch, {job.optimiser} "
        f"with learning rate {job.rate:g} ({job.rule}), seed {job.seed}."
    )
    if source is None:
        return f"{trained} Nobody is held up."
    held_up = f"Workers are held up as {source.name} says ({source.about})"
    return f"{trained} {held_up}; a run time of 1 is {unit:g} s, {PASSED[job.slow_by]}."


def _show(found: Training, report: Path | None, journal: Path | None, as_json: bool) -> None:
    rows = json.dumps([arm.as_json() for arm in found.arms], indent=1)
    if as_json:
        print(rows)
    else:
        Console().print(training_table(found))
    if journal is not None:
        (journal / RESULT).write_text(rows + "\n", encoding="utf-8")
    if report is not None:
        write_training_page(found, report)
        _say(f"Page: {report.resolve()}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
