"""The execution of a paper's experiments: jobs in several processes, their results kept, then findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time
from typing import Any, TypeAlias

from tailcut.study.parallel import Job, each_done
from tailcut.study.reproduce.experiment import Experiment
from tailcut.study.reproduce.findings import Finding
from tailcut.study.reproduce.shelf import Shelf

Tell: TypeAlias = Callable[[str, int, int], None]
"""Callback for progress: the first part of the finished job's key, the number of finished and of all jobs."""


def carry_out(
    experiments: Sequence[Experiment], shelf: Shelf, kept: dict[str, Any], processes: int | None, tell: Tell
) -> tuple[Finding, ...]:
    """Do all remaining jobs, and return one finding for each experiment.

    Args:
        experiments: experiments in the order in which they are shown.
        shelf: folder of the results.
        kept: results so far; new ones are added.
        processes: number of processes; None for one per core.
        tell: called with the progress.
    """
    while True:
        # Two experiments may need the same job.
        left = {job.key: job for experiment in experiments for job in experiment.jobs(kept)}
        if not left:
            break
        timed = [Job(key, clocked, (job.work, job.arguments)) for key, job in left.items()]
        for number, (key, (result, seconds)) in enumerate(each_done(timed, processes), 1):
            shelf.keep(key, result, seconds)
            kept[key] = result
            tell(key.partition("/")[0], number, len(left))
    return tuple(experiment.finding(kept) for experiment in experiments)


def clocked(work: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    """Return the result of a call, and its seconds of processor time."""
    began = process_time()
    result = work(*arguments)
    return result, process_time() - began
