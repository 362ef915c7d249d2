"""Worker processes on one machine, and their host: start them, see them through, leave none behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tailcut.engines.live.hosting import Host
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

    When one fails the others are ended. Where a process is killed from outside the others go on: with
    `tailcut.Optimizer` they do not need it. A controller that is killed is started again. Ctrl-C ends them all.

    Args:
        script: file and arguments.
        workers: processes.
        restarts: how often each process that was killed is started again, after a pause that doubles each time.
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

    with _ended_in_order(), tempfile.TemporaryDirectory(prefix="tailcut-") as folder:
        host, code = Host(Path(folder), tell), 1

        def start(worker: int) -> subprocess.Popen[bytes]:
            places = host.environment | environment(worker, workers, port)
            process = subprocess.Popen(command, env=places, stdout=out, stderr=err)
            readers.extend([] if tell is None else [_reader(process, tell)])
            return process

        def look() -> None:
            host.look(time.monotonic())
            meanwhile()

        try:
            running += [start(worker) for worker in range(workers)]
            host.open_store()
            code = _watched(running, look, Restarts(start, restarts))
            return code
        finally:
            _end(running)
            host.end(at_once=code != 0)
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
    return told if "OMP_NUM_THREADS" in os.environ else told | {"OMP_NUM_THREADS": "1"}


def _watched(
    running: list[subprocess.Popen[bytes]], meanwhile: Callable[[], None], restarts: Restarts
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
