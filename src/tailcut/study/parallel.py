"""Work spread over processes; Ctrl-C and errors end it at once, and finished results are kept."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from multiprocessing.resource_tracker import ensure_running
from typing import Any, Generic, TypeVar

from tailcut.errors import InputError, ParameterError, TailcutError

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Environment variables for numbers of threads, which linear algebra libraries read when they are loaded."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C interrupted work of which a part is finished.

    Attributes:
        facts: results of the finished part.
        said: extent of the finished part, in a few words.
    """

    def __init__(self, facts: Any, said: str) -> None:
        super().__init__()
        self.facts, self.said = facts, said


@dataclass(frozen=True, slots=True)
class Job(Generic[K, T]):
    """One call of a function.

    Attributes:
        key: identifies the job.
        work: function of a module, so that another process finds it.
        arguments: arguments of the call.
    """

    key: K
    work: Callable[..., T]
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sentence:
    """The message of an error: the error's class may not be sent between processes, a text can."""

    text: str
    is_input: bool


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def each_done(
    jobs: Sequence[Job[K, T]], processes: int | None = None, shared: object = None
) -> Iterator[tuple[K, T]]:
    """Yield the key and result of each job as it ends; jobs begin in the given order.

    Every process computes with one thread, since there is a process for every core.

    Args:
        jobs: jobs in the order in which to begin them.
        processes: number of processes, by default one per core; 0 or 1 runs all jobs in this process.
        shared: first argument of every call unless it is None; it is sent to each process once.

    Raises:
        InputError: a job failed with such an error or an `OSError`; the others are ended.
        TailcutError: a process was ended from outside, or a job failed with another error.
    """
    count = min(cores() if processes is None else processes, len(jobs))
    first = () if shared is None else (shared,)
    if count <= 1:
        for job in jobs:
            yield job.key, job.work(*first, *job.arguments)
        return
    others = set(active_children())
    pool = ProcessPoolExecutor(count, get_context("spawn"), _set_up, (_pickled(first),))
    try:
        with _interrupts_blocked_one_thread():
            # The first of these starts the processes.
            waiting = {pool.submit(_called, job.work, job.arguments): job.key for job in jobs}
        for future in as_completed(waiting):
            yield waiting[future], _result(future)
    except BrokenProcessPool as problem:
        raise TailcutError(
            "A process was ended from outside, perhaps for lack of memory. Run the command again with fewer processes."
        ) from problem
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        mine = [child for child in active_children() if child not in others]
        for child in mine:
            child.terminate()
        for child in mine:
            child.join(5.0)


def _pickled(first: tuple[Any, ...]) -> bytes:
    try:
        return pickle.dumps(first)
    except (pickle.PicklingError, AttributeError, TypeError) as problem:
        raise ParameterError(
            f"The work cannot be sent to other processes ({problem}). Take one process."
        ) from problem


def _result(future: Future[T | _Sentence]) -> T:
    result = future.result()
    if not isinstance(result, _Sentence):
        return result
    raise InputError(result.text) if result.is_input else TailcutError(result.text)


@contextmanager
def _interrupts_blocked_one_thread() -> Iterator[None]:
    """Let processes started in this block ignore Ctrl-C from their start, and compute with one thread."""
    before = {name: os.environ.get(name) for name in THREAD_LIMITS}
    os.environ.update(dict.fromkeys(THREAD_LIMITS, "1"))
    # Started processes inherit blocked signals. In this process a signal waits until the block is left, and
    # is not lost. The resource tracker would unblock it when it starts, so it is started before.
    can_block = hasattr(signal, "pthread_sigmask")
    if can_block:
        ensure_running()
        unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if can_block:
            signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)


_shared: tuple[Any, ...] = ()
"""The first arguments of every call in this process of a pool."""


def _set_up(first: bytes) -> None:
    """Set up a process of the pool: it ignores Ctrl-C, since its parent ends it."""
    global _shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _shared = pickle.loads(first)


def _called(work: Callable[..., T], arguments: tuple[Any, ...]) -> T | _Sentence:
    try:
        return work(*_shared, *arguments)
    except TailcutError as problem:
        return _Sentence(str(problem), isinstance(problem, InputError))
    except MemoryError:
        return _Sentence("There is not enough memory for so many processes. Take fewer.", False)
    except OSError as problem:
        where = problem.filename or "A file"
        return _Sentence(f"{where} cannot be written: {problem.strerror}. Make room and go on.", True)
    except Exception as problem:
        said = " ".join(str(problem).split())
        why = f"{type(problem).__name__}: {said}"
        return _Sentence(f"A process failed with {why}. Run the command in one process to see where.", False)
