"""Worker processes of the built-in training, forked from one that has imported everything: they start at once."""

from __future__ import annotations

import atexit
import io
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from multiprocessing.queues import SimpleQueue
from threading import Thread
from typing import TypeAlias

from tailcut.engines.live.interruptions import ignored
from tailcut.engines.live.keys import with_key
from tailcut.engines.live.launch import LOOK, PATIENCE, environment, free_port
from tailcut.errors import TailcutError

WorkerJob: TypeAlias = Callable[[], None]
"""The work of a process; it can be pickled."""
Said: TypeAlias = "SimpleQueue[str]"
"""Lines that processes print."""


def in_processes(
    job: WorkerJob,
    workers: int,
    preload: Sequence[str],
    *,
    tell: Callable[[str], None] | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> int:
    """Run a job in worker processes that know their ranks; return the first exit code that is not 0, or 0.

    When one fails the others are ended, and so they are when this process is interrupted or has ended.

    Args:
        job: work of each process.
        workers: number of processes.
        preload: modules that take long to import.
        tell: is given every line that they print; without it they print for themselves.
        meanwhile: is called many times a second.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    with ignored():
        forkserver.ensure_running()
    port = free_port()
    said: Said | None = None if tell is None else context.SimpleQueue()
    key = {name: value for name, value in with_key(os.environ).items() if name not in os.environ}
    places = [environment(worker, workers, port) | key for worker in range(workers)]
    running = [context.Process(target=_be_worker, args=(job, place, said), daemon=True) for place in places]

    def look() -> None:
        while tell is not None and said is not None and not said.empty():
            tell(said.get())
        meanwhile()

    try:
        for process in running:
            process.start()
        return _watched(running, look)
    finally:
        _end(running)
        look()


class _Lines(io.TextIOBase):
    """The output of a process, sent line by line to the process that started it."""

    def __init__(self, said: Said) -> None:
        self._said, self._begun = said, ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._said.put(line)
        return len(text)


def _be_worker(job: WorkerJob, places: dict[str, str], said: Said | None) -> None:
    os.environ.update(places)
    if said is not None:
        sys.stdout = sys.stderr = _Lines(said)
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        job()
    except TailcutError as error:
        print(f"tailcut: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
        sys.exit(1)
    finally:
        # A forked process ends without calling its exit functions.
        atexit._run_exitfuncs()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _watched(running: Sequence[ForkServerProcess], look: Callable[[], None]) -> int:
    while True:
        look()
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
