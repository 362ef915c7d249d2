"""Jobs spread over all cores, the longest first; Ctrl-C keeps what has ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, Generic, TypeVar

from rich.console import Console
from rich.progress import Progress

T = TypeVar("T")
THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """One call.

    Attributes:
        key: what its result is filed under.
        work: a function of a module, so that another process finds it.
        arguments: of the call.
        size: how long it takes beside other jobs, in any unit.
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
        """The results, if they are all there.

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
        jobs: in any order.
        processes: by default one per core; 0 runs them here, one after the other.
    """
    done: Done[T] = Done()
    ordered = sorted(jobs, key=lambda job: -job.size)
    if processes == 0:
        done.results = {job.key: job.work(*job.arguments) for job in ordered}
        return done
    with _one_thread_each():
        pool_of_all = get_context("spawn").Pool(processes or os.cpu_count(), _leave_interrupts)
    with pool_of_all as pool, _bar(what) as bar:
        try:
            for key, result in bar.track(
                pool.imap_unordered(_call, ordered), total=len(ordered), task_id=bar.task_ids[0]
            ):
                done.results[key] = result
        except KeyboardInterrupt:
            print(f"Interrupted: {len(done.results)} of {len(ordered)} had ended.")
            done.interrupted = True
    return done


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started in here compute with one thread: there is one of them for every core already."""
    before = os.environ.get(THREADS)
    os.environ[THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[THREADS]
        else:
            os.environ[THREADS] = before


def _call(job: Job[T]) -> tuple[Hashable, T]:
    return job.key, job.work(*job.arguments)


def _leave_interrupts() -> None:
    """Ctrl-C is for the parent, which shows what has ended and stops the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _bar(what: str) -> Progress:
    bar = Progress(console=Console(stderr=True), transient=True)
    bar.add_task(what, total=None)
    return bar
