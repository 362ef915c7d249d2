"""Worker processes on one machine, and their host: start them, see them through, leave none behind."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tailcut.engines.live.hosting import Host
from tailcut.engines.live.interruptions import Interruptions
from tailcut.engines.live.supervise import Restarts, was_killed
from tailcut.errors import ParameterError
from tailcut.types import Seconds

PATIENCE: Seconds = 5.0
"""For processes that were asked to end, before they are made to."""
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

    When one fails the others are ended, unless it only came too late, after the run. Where a process is killed from
    outside the others go on: with `tailcut.Optimizer` they do not need it. A controller that is killed is started
    again. Ctrl-C ends them all.

    Args:
        script: file and arguments.
        workers: processes.
        restarts: how often each process that was killed is started again, after a pause that doubles each time; none
            once one has ended with 0, or the run is over.
        tell: is given every line that they print, from threads; without it they print for themselves.
        meanwhile: is called many times a second.

    Raises:
        ParameterError: a number is impossible, or the machine has no room for so many processes.
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

    interruptions = Interruptions()

    with interruptions.minded(), tempfile.TemporaryDirectory(prefix="tailcut-") as folder:
        host, code = Host(Path(folder), tell), 1

        def start(worker: int) -> subprocess.Popen[bytes]:
            places = host.environment | environment(worker, workers, port)
            process = subprocess.Popen(command, env=places, stdout=out, stderr=err)
            try:
                readers.extend([] if tell is None else [_reader(process, tell)])
            except RuntimeError as problem:
                _end([process])
                raise OSError(errno.EAGAIN, str(problem)) from problem
            return process

        def look() -> None:
            host.look(time.monotonic())
            meanwhile()

        try:
            _start_all(running, start, workers, interruptions)
            host.open_store()
            code = _watched(running, look, Restarts(start, restarts, tell), host, interruptions)
            return code
        finally:
            try:
                with interruptions.held():
                    _end(running)
                host.end(at_once=code != 0)
            except BaseException:
                # Asked to end once more, it does not wait for reports any longer.
                with interruptions.held():
                    host.end(at_once=True)
                raise
            for reader in readers:
                # Somebody else may hold the other end, such as a controller that sees the run out.
                reader.join(PATIENCE)


def _start_all(
    running: list[subprocess.Popen[bytes]],
    start: Callable[[int], subprocess.Popen[bytes]],
    workers: int,
    interruptions: Interruptions,
) -> None:
    """Start them one by one, so that those are known, and are ended, that were started before something goes wrong."""
    for worker in range(workers):
        try:
            with interruptions.held():
                running.append(start(worker))
        except OSError as problem:
            raise ParameterError(
                f"Only {worker} of {workers} worker processes could be started ({problem.strerror}). "
                "Give -n fewer, or raise the limits on processes and open files (ulimit -u, ulimit -n)."
            ) from problem


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
    return told if "OMP_NUM_THREADS" in os.environ else told | {"OMP_NUM_THREADS": "1"}


def _watched(
    running: list[subprocess.Popen[bytes]],
    meanwhile: Callable[[], None],
    restarts: Restarts,
    host: Host,
    interruptions: Interruptions,
) -> int:
    while True:
        meanwhile()
        if not host.is_over:
            with interruptions.held():
                restarts.look(running, time.monotonic())
        codes = [process.poll() for process in running]
        failed = [process.returncode for process in running if _has_failed(process, host)]
        if failed:
            return failed[0]
        if None not in codes:
            return next((code for code in codes if code), 0) if all(codes) else 0
        time.sleep(LOOK)


def _has_failed(process: subprocess.Popen[bytes], host: Host) -> bool:
    """Whether one has ended, not by somebody else's hand, and not because the run had gone to its end without it."""
    code = process.poll() or 0
    return code != 0 and not was_killed(code) and not host.came_late(process.pid)


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
