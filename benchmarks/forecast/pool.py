"""Jobs spread over all cores, the longest first; Ctrl-C keeps what has ended."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from rich.console import Console
from rich.progress import Progress

from tailcut.study.parallel import Job as EachJob
from tailcut.study.parallel import each_done

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """One call.

    Attributes:
        key: key of its result.
        work: a function of a module, so that another process finds it.
        arguments: arguments of the call.
        size: expected time relative to other jobs, in any unit.
    """

    key: Hashable
    work: Callable[..., T]
    arguments: tuple[Any, ...] = ()
    size: float = 1.0


@dataclass(slots=True)
class Done(Generic[T]):
    """Results by key, and whether Ctrl-C left some out."""

    results: dict[Any, T] = field(default_factory=dict)
    interrupted: bool = False

    def or_stop(self) -> dict[Any, T]:
        """Return the results, if none is missing.

        Raises:
            KeyboardInterrupt: some are missing.
        """
        if self.interrupted:
            raise KeyboardInterrupt
        return self.results


def spread(what: str, jobs: Sequence[Job[T]], processes: int | None = None) -> Done[T]:
    """Run all jobs.

    Args:
        what: shown beside the progress bar.
        jobs: jobs in any order; large ones begin first.
        processes: number of processes; by default one per core; 0 or 1 runs the jobs in this process.
    """
    done: Done[T] = Done()
    ordered = sorted(jobs, key=lambda job: -job.size)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=len(ordered))
        try:
            for key, result in each_done(
                [EachJob(job.key, job.work, job.arguments) for job in ordered], processes
            ):
                done.results[key] = result
                bar.advance(task)
        except KeyboardInterrupt:
            print(f"Interrupted: {len(done.results)} of {len(ordered)} had ended.")
            done.interrupted = True
    return done
