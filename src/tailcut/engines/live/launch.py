"""Worker processes on one machine: start them, see them through, leave none behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import final

from tailcut.errors import ParameterError
from tailcut.types import Seconds

PATIENCE: Seconds = 5.0
"""For processes that were asked to end, before they are made to."""
PAUSE: Seconds = 0.5
"""Before a process is started again for the first time."""
CRASHES = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
LOOK: Seconds = 0.05
"""Between two looks at the processes."""


def launch(
    script: Sequence[str],
    workers: int,
    *,
    restarts: int = 0,
    tell: Callable[[str], None] | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> int:
    """Run a script in so many processes, as `torchrun` would on one machine; the first exit code that is not 0, or 0.

    When one fails the others are ended. Where a process is killed from outside the others go on: with
    `tailcut.Optimizer` they do not need it. Ctrl-C ends them all.

    Args:
        script: file and arguments.
        workers: processes.
        restarts: how often each process that was killed is started again, after a pause that doubles each time. The
            first is not: the controller ends with it.
        tell: is given every line that they print, from threads; without it they print for themselves.
        meanwhile: is called many times a second.
    """
    if workers < 1:
        raise ParameterError(f"-n must be at least 1 worker, but got {workers}.")
    if restarts < 0:
        raise ParameterError(f"--restarts must be 0 or more, but got {restarts}.")
    port = free_port()
    out, err = (None, None) if tell is None else (subprocess.PIPE, subprocess.STDOUT)
    command = [sys.executable, *script]
    running: list[subprocess.Popen[bytes]] = []
    readers: list[threading.Thread] = []

    def start(worker: int) -> subprocess.Popen[bytes]:
        places = environment(worker, workers, port)
        process = subprocess.Popen(command, env=places, stdout=out, stderr=err)
        readers.extend([] if tell is None else [_reader(process, tell)])
        return process

    with _ended_in_order():
        try:
            running += [start(worker) for worker in range(workers)]
            return _watched(running, meanwhile, _Restarts(start, restarts))
        finally:
            _end(running)
            for reader in readers:
                # Somebody else may hold the other end, such as a controller that sees the run out.
                reader.join(PATIENCE)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Who is asked to end, as by a supervisor, ends its workers first."""

    def leave(number: int, _: object) -> None:
        sys.exit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _reader(process: subprocess.Popen[bytes], tell: Callable[[str], None]) -> threading.Thread:
    """A thread that tells what a process prints."""
    output = process.stdout
    assert output is not None

    def read() -> None:
        with output:
            for line in output:
                tell(line.decode(errors="replace").rstrip("\r\n"))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def environment(worker: int, workers: int, port: int) -> dict[str, str]:
    """What tells a process its place among the workers of one machine, as `torchrun` would."""
    places = {"RANK": worker, "LOCAL_RANK": worker, "WORLD_SIZE": workers, "LOCAL_WORLD_SIZE": workers}
    told = {name: str(value) for name, value in places.items()}
    told |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    # With more processes than cores, threads only stand in each other's way.
    return {"OMP_NUM_THREADS": "1"} | os.environ | told


def was_killed(code: int) -> bool:
    """Whether a process was ended from outside. One that crashes has failed, though a signal ends it too.

    Example:
        >>> was_killed(-signal.SIGKILL), was_killed(-signal.SIGSEGV), was_killed(1), was_killed(0)
        (True, False, False, False)
    """
    return code < 0 and -code not in CRASHES


@final
class _Restarts:
    """Processes that are started again.

    Args:
        start: starts one.
        most: times for each.
    """

    def __init__(self, start: Callable[[int], subprocess.Popen[bytes]], most: int) -> None:
        self._start, self._most = start, most
        self._times: dict[int, int] = {}
        self._due: dict[int, Seconds] = {}

    def look(self, running: list[subprocess.Popen[bytes]], now: Seconds) -> None:
        """Start who was killed, is due, and has somebody to come back to."""
        if all(process.poll() is not None for process in running):
            return
        for worker, process in enumerate(running):
            times = self._times.get(worker, 0)
            code = process.poll()
            if worker == 0 or code is None or not was_killed(code) or times >= self._most:
                continue
            if now >= self._due.setdefault(worker, now + PAUSE * 2**times):
                self._times[worker] = times + 1
                del self._due[worker]
                running[worker] = self._start(worker)


def _watched(
    running: list[subprocess.Popen[bytes]], meanwhile: Callable[[], None], restarts: _Restarts
) -> int:
    while True:
        meanwhile()
        restarts.look(running, time.monotonic())
        codes = [process.poll() for process in running]
        failed = [code for code in codes if code and not was_killed(code)]
        if failed:
            return failed[0]
        if None not in codes:
            return next((code for code in codes if code), 0) if all(codes) else 0
        time.sleep(LOOK)


def _end(running: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    until = time.monotonic() + PATIENCE
    for process in running:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
