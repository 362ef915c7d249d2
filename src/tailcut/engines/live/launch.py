"""Worker processes on one machine: start them, see them through, leave none behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

from tailcut.errors import ParameterError
from tailcut.types import Seconds

PATIENCE: Seconds = 5.0
"""For processes that were asked to end, before they are made to."""
LOOK: Seconds = 0.05
"""Between two looks at the processes."""


def launch(script: Sequence[str], workers: int) -> int:
    """Run a script in so many processes, as `torchrun` would on one machine; the first exit code that is not 0, or 0.

    When one fails the others are ended. Ctrl-C ends them all.

    Args:
        script: file and arguments.
        workers: processes.
    """
    if workers < 1:
        raise ParameterError(f"-n must be at least 1 worker, but got {workers}.")
    port = _free_port()
    running = [
        subprocess.Popen([sys.executable, *script], env=_environment(worker, workers, port))
        for worker in range(workers)
    ]
    try:
        return _watched(running)
    finally:
        _end(running)


def _environment(worker: int, workers: int, port: int) -> dict[str, str]:
    places = {"RANK": worker, "LOCAL_RANK": worker, "WORLD_SIZE": workers, "LOCAL_WORLD_SIZE": workers}
    told = {name: str(value) for name, value in places.items()}
    told |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    # With more processes than cores, threads only stand in each other's way.
    return {"OMP_NUM_THREADS": "1"} | os.environ | told


def _watched(running: Sequence[subprocess.Popen[bytes]]) -> int:
    while True:
        codes = [process.poll() for process in running]
        failed = [code for code in codes if code]
        if failed or None not in codes:
            return failed[0] if failed else 0
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


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
