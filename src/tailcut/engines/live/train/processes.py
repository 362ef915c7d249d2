"""Worker processes of the built-in training, forked from one that has imported everything: they start at once."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.context import ForkServerProcess
from threading import Thread
from typing import TypeAlias

from tailcut.engines.live.launch import LOOK, PATIENCE, environment, free_port
from tailcut.errors import TailcutError

WorkerJob: TypeAlias = Callable[[], None]
"""What a process does; it can be pickled."""


def in_processes(job: WorkerJob, workers: int, preload: Sequence[str]) -> int:
    """Do something in so many processes, each of which knows its place; the first exit code that is not 0, or 0.

    When one fails the others are ended, and so they are when this process is interrupted or gone.

    Args:
        job: what each does.
        workers: processes.
        preload: modules that take long to import.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    port = free_port()
    running = [
        context.Process(target=_be_worker, args=(job, environment(worker, workers, port)), daemon=True)
        for worker in range(workers)
    ]
    try:
        for process in running:
            process.start()
        return _watched(running)
    finally:
        _end(running)


def _be_worker(job: WorkerJob, places: dict[str, str]) -> None:
    os.environ.update(places)
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        job()
    except TailcutError as error:
        print(f"tailcut: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
        sys.exit(1)
    finally:
        # A forked process ends without doing what was left for its end.
        atexit._run_exitfuncs()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _watched(running: Sequence[ForkServerProcess]) -> int:
    while True:
        codes = [process.exitcode for process in running]
        failed = [code for code in codes if code]
        if failed or None not in codes:
            return failed[0] if failed else 0
        time.sleep(LOOK)


def _end(running: Sequence[ForkServerProcess]) -> None:
    started = [process for process in running if process.pid is not None]
    for process in started:
        process.terminate()
    until = time.monotonic() + PATIENCE
    for process in started:
        process.join(max(0.0, until - time.monotonic()))
        if process.exitcode is None:
            process.kill()
            process.join()
