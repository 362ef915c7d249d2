"""Work spread over processes; Ctrl-C and errors end it at once and keep what has ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from typing import Any, Generic, TypeVar

from tailcut.errors import InputError, TailcutError

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Job(Generic[K, T]):
    """One call.

    Attributes:
        key: what it is known by.
        work: a function of a module, so that another process finds it.
        arguments: of the call.
    """

    key: K
    work: Callable[..., T]
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sentence:
    """An error of ours: its classes may not travel between processes, what it says does."""

    text: str


def each_done(jobs: Sequence[Job[K, T]], processes: int | None = None) -> Iterator[tuple[K, T]]:
    """Results as they come, begun in the order given.

    Args:
        jobs: in the order in which to begin them.
        processes: by default one per core; 0 or 1 runs them here, one after the other.

    Raises:
        InputError: a job failed with a sentence; the others are ended.
        TailcutError: a process was ended from outside.
    """
    count = min(os.cpu_count() or 1 if processes is None else processes, len(jobs))
    if count <= 1:
        for job in jobs:
            yield job.key, job.work(*job.arguments)
        return
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_leave_interrupts)
    try:
        waiting = {pool.submit(_called, job.work, job.arguments): job.key for job in jobs}
        for future in as_completed(waiting):
            result = future.result()
            if isinstance(result, _Sentence):
                raise InputError(result.text)
            yield waiting[future], result
    except BrokenProcessPool as problem:
        raise TailcutError(
            "A process was ended from outside, perhaps for lack of memory. Run the command again: what has ended is "
            "kept."
        ) from problem
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in active_children():
            child.terminate()
        for child in active_children():
            child.join(5.0)


def _called(work: Callable[..., T], arguments: tuple[Any, ...]) -> T | _Sentence:
    try:
        return work(*arguments)
    except TailcutError as problem:
        return _Sentence(str(problem))
    except OSError as problem:
        return _Sentence(
            f"{problem.filename or 'A file'} cannot be written: {problem.strerror}. Make room and go on."
        )


def _leave_interrupts() -> None:
    """Ctrl-C is for the parent, which ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
