"""All experiments of a paper: their jobs spread over processes, what has ended kept, then what came of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time
from typing import Any, TypeAlias

from tailcut.study.parallel import Job, each_done
from tailcut.study.reproduce.experiment import Experiment
from tailcut.study.reproduce.findings import Finding
from tailcut.study.reproduce.shelf import Shelf

Tell: TypeAlias = Callable[[str, int, int], None]
"""What has just ended, how much of this stage has, of how much."""


def carry_out(
    experiments: Sequence[Experiment], shelf: Shelf, kept: dict[str, Any], processes: int | None, tell: Tell
) -> tuple[Finding, ...]:
    """Do all that is left to do; one finding for each experiment.

    Args:
        experiments: in the order in which they are shown.
        shelf: where results go.
        kept: results so far; those that end are added.
        processes: None for one per core.
        tell: whom to tell about progress.
    """
    while True:
        # Two experiments may ask for one and the same job.
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
    """The result of a call, and the seconds of processor time it took."""
    began = process_time()
    result = work(*arguments)
    return result, process_time() - began
