"""Checks of the arguments of `tailcut train`, before any process is started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailcut import names
from tailcut.cli.arguments import check_file, check_writable
from tailcut.cli.train_on_servers import check_arms
from tailcut.engines.live.train.job import Arm, Job
from tailcut.engines.records.files import RunFolder
from tailcut.engines.slow.ways import way
from tailcut.errors import ParameterError, UnknownNameError
from tailcut.policy import Policy

if TYPE_CHECKING:
    from tailcut.learning.tasks.base import Task

TORCH, RAY = "torch", "ray"
MOST_WORKERS = 256
"""Most worker processes on one machine."""
RESULT = "train.json"
"""Name of the file with the results, in the folder of a run's records."""


def check_engine(engine: str, servers: int, address: str | None, checkpoints: Path | None) -> None:
    """Refuse an unknown engine, and options that the engine does not have."""
    if engine not in (TORCH, RAY):
        raise UnknownNameError("engine", engine, (TORCH, RAY))
    if servers < 1:
        raise ParameterError(f"--servers must be at least 1, but got {servers}. Try --servers 2.")
    if engine == TORCH and (servers > 1 or address is not None or checkpoints is not None):
        raise ParameterError(
            "--servers, --address and --checkpoints go with --engine ray: the torch engine has no servers. Add "
            "--engine ray."
        )


def check_workers(workers: int, address: str | None) -> None:
    """Refuse more processes than one machine can run; a Ray cluster checks its own capacity."""
    if address is None and workers > MOST_WORKERS:
        raise ParameterError(
            f"--workers must be at most {MOST_WORKERS}, but got {workers}. Try --workers 8, or name a Ray cluster by "
            "--address."
        )


def check_names(job: Job, engine: str) -> None:
    """Check all parts of a job that are given by name, before any process is started."""
    from tailcut.learning.optimisers import OPTIMISERS
    from tailcut.learning.rates import RATES

    way(job.slow_by)
    if job.optimiser not in OPTIMISERS:
        raise UnknownNameError("optimiser", job.optimiser, OPTIMISERS)
    if job.rule not in RATES:
        raise ParameterError(
            f"--rate must be one of {', '.join(RATES)}, but got {job.rule!r}. Try --rate linear."
        )
    if engine == RAY:
        check_arms(job)
    for arm in job.arms:
        if not arm.is_ddp:
            _check_policy(arm, job, engine)


def _check_policy(arm: Arm, job: Job, engine: str) -> None:
    from tailcut.learning.rates import RATES, refuse_mismatch
    from tailcut.round import Rounds

    try:
        entrant = names.entrant(arm.policy)
    except UnknownNameError as error:
        if arm.policy.partition(":")[0] in names.policies():
            raise
        raise UnknownNameError("policy", arm.policy, [*names.policies(), "ddp"]) from error
    if engine == TORCH:
        # Imported only here: it needs packages that training on Ray does not.
        from tailcut.engines.live.controller.checks import check_parameters

        if entrant.acceptance.max_staleness != 0:
            raise ParameterError(
                f"{arm.policy} accepts gradients of older parameters, which live training does not. Take a "
                "synchronous policy such as bayes, train with --engine ray, or see it in virtual time with tailcut "
                "study."
            )
        rounds = Rounds(entrant.policy, entrant.acceptance)
        check_parameters(rounds, job.workers, job.updates, 1, RATES[job.rule])
    elif isinstance(entrant.policy, Policy):
        refuse_mismatch(entrant.policy.rule.objective_name, job.rule)
    folder = job.journal(arm)
    if folder is not None:
        RunFolder(Path(folder)).refuse_run()


def check_data(job: Job, task: Task) -> None:
    """Refuse mini-batches larger than the task's data."""
    from tailcut.learning.tasks.checks import check_batch

    check_batch(job.batch, task.samples, "--batch")


def check_outputs(report: Path | None, journal: Path | None) -> None:
    """Refuse a page or a journal folder that cannot be written."""
    if report is not None:
        check_writable(report)
    if journal is not None:
        try:
            journal.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ParameterError(
                f"--journal {journal} cannot be made ({error.strerror}). Name another folder."
            ) from error
        check_file("--journal", journal / RESULT, RESULT)
