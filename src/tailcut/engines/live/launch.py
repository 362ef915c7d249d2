"""Starts the worker processes of one machine and their host, watches them, and ends them all."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

from tailcut.engines.live.descriptors import raise_limit
from tailcut.engines.live.hosting import Host
from tailcut.engines.live.interruptions import IGNORING, Interruptions
from tailcut.engines.live.output import verdict
from tailcut.engines.live.relay import Relay
from tailcut.engines.live.scratch import scratch_folder
from tailcut.engines.live.supervise import Restarts, was_killed
from tailcut.errors import ParameterError
from tailcut.types import Seconds

PATIENCE: Seconds = 5.0
"""Seconds that a process has to end after SIGTERM, before it is killed."""
AFTER_FAILURE: Seconds = 1.0
"""The same for the other workers when one has failed, in seconds."""
LOOK: Seconds = 0.05
"""Seconds between two checks of the processes."""


def launch(
    script: Sequence[str],
    workers: int,
    *,
    restarts: int = 0,
    prefix: bool = False,
    tell: Callable[[str], None] | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> int:
    """Run a script in worker processes, as `torchrun` does on one machine; return the exit code.

    It is the first that is not 0, or 0. When a worker fails the others are ended, unless it only came too
    late, after the run. The last line that is printed then names the failed worker. If a process is killed
    from outside the others go on: with `tailcut.Optimizer` they do not need it. A killed controller is
    restarted. Ctrl-C ends them all.

    Args:
        script: file and arguments.
        workers: number of processes.
        restarts: how often each killed process is restarted, after a pause that doubles each time. There is
            no restart once a worker has ended with 0, or the run is over. If all workers are killed they are
            restarted only if the script keeps checkpoints, from which they resume.
        prefix: whether every line that workers print begins with the rank of its worker.
        tell: is given every line that they print, from a thread; without it they are printed.
        meanwhile: is called many times a second.

    Raises:
        ParameterError: a number is impossible, or the machine has no room for so many processes.
    """
    if workers < 1:
        raise ParameterError(f"-n must be at least 1 worker, but got {workers}.")
    if restarts < 0:
        raise ParameterError(f"--restarts must be 0 or more, but got {restarts}.")
    raise_limit()
    port = free_port()
    command = [*IGNORING, sys.executable, *script]
    running: list[subprocess.Popen[bytes]] = []
    interruptions = Interruptions()

    with interruptions.minded(), scratch_folder() as folder:
        relay = Relay(prefix, tell)
        host = Host(folder, relay.say, restarts=restarts > 0)
        ending: Ending | None = None
        out, err = relay.streams

        def start(worker: int) -> subprocess.Popen[bytes]:
            places = host.environment | environment(worker, workers, port) | relay.environment
            process = subprocess.Popen(command, env=places, stdout=out, stderr=err)
            try:
                relay.read(worker, process)
            except RuntimeError as problem:
                _end([process])
                raise OSError(errno.EAGAIN, str(problem)) from problem
            return process

        def look() -> None:
            host.look(time.monotonic())
            relay.look()
            meanwhile()

        try:
            _start_all(running, start, workers, interruptions)
            host.open_store()
            ending = _watched(running, look, Restarts(start, restarts, relay.say), host, interruptions)
        finally:
            is_well = ending is not None and ending.failed is None
            if not is_well:
                relay.mute()
            try:
                with interruptions.held():
                    _end(running, None if ending is None else ending.failed)
                host.end(at_once=not is_well)
            except BaseException:
                # On a second request to end it does not wait for reports any longer.
                with interruptions.held():
                    host.end(at_once=True)
                raise
            if ending is None or ending.failed is None:
                relay.end()
            else:
                code = ending.code(running)
                relay.end(ending.failed, partial(verdict, ending.failed, code, ending.has_stopped_others))
    return ending.code(running)


@final
@dataclass(frozen=True, slots=True)
class Ending:
    """The outcome of a launch.

    Attributes:
        failed: the worker that failed; None where none has.
        is_ending: whether its process still ran then, and had only reported that it ends with an error.
        has_stopped_others: whether others still ran then.
    """

    failed: int | None = None
    is_ending: bool = False
    has_stopped_others: bool = False

    def code(self, running: Sequence[subprocess.Popen[bytes]]) -> int:
        """Return the exit code of the launch, when all processes have ended."""
        if self.failed is None:
            return 0
        code = int(running[self.failed].returncode)
        # A process that took too long to end after its error was killed.
        return 1 if self.is_ending and code <= 0 else code


def _start_all(
    running: list[subprocess.Popen[bytes]],
    start: Callable[[int], subprocess.Popen[bytes]],
    workers: int,
    interruptions: Interruptions,
) -> None:
    """Start workers one by one, so that after an error the caller knows which ones to end."""
    for worker in range(workers):
        try:
            with interruptions.held():
                running.append(start(worker))
        except OSError as problem:
            raise ParameterError(
                f"Only {worker} of {workers} worker processes could be started ({problem.strerror}). "
                "Give -n fewer, or raise the limits on processes and open files (ulimit -u, ulimit -n)."
            ) from problem


def environment(worker: int, workers: int, port: int) -> dict[str, str]:
    """Return the variables that tell a process its rank on one machine, as `torchrun` does."""
    places = {"RANK": worker, "LOCAL_RANK": worker, "WORLD_SIZE": workers, "LOCAL_WORLD_SIZE": workers}
    told = {name: str(value) for name, value in places.items()}
    told |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    # With more processes than cores, threads only compete with each other.
    return told if "OMP_NUM_THREADS" in os.environ else told | {"OMP_NUM_THREADS": "1"}


def _watched(
    running: list[subprocess.Popen[bytes]],
    meanwhile: Callable[[], None],
    restarts: Restarts,
    host: Host,
    interruptions: Interruptions,
) -> Ending:
    while True:
        meanwhile()
        if not host.is_over:
            with interruptions.held():
                restarts.look(running, time.monotonic(), host.resumes)
        codes = [process.poll() for process in running]
        # Read after the codes, so that a worker that ends in between is not overlooked.
        is_waiting = not host.is_over and bool(restarts.pending(running, host.resumes))
        failed = _failed(running, host)
        if failed is not None:
            return Ending(failed, codes[failed] is None, None in codes[:failed] + codes[failed + 1 :])
        if None not in codes and not is_waiting:
            # If all were killed, the first of them stands for all.
            return Ending(0) if all(codes) else Ending()
        time.sleep(LOOK)


def _failed(running: Sequence[subprocess.Popen[bytes]], host: Host) -> int | None:
    """Return the worker that has failed first, as far as is known; None if none has."""
    workers = {process.pid: worker for worker, process in enumerate(running)}
    failing = [workers[process] for process in host.failing() if process in workers]
    ended = [worker for worker, process in enumerate(running) if _has_failed(process, host)]
    return next(iter([*failing, *ended]), None)


def _has_failed(process: subprocess.Popen[bytes], host: Host) -> bool:
    """Return whether a process ended by an error of its own: not killed, and not too late for the run."""
    code = process.poll() or 0
    return code != 0 and not was_killed(code) and not host.came_late(process.pid)


def _end(running: Sequence[subprocess.Popen[bytes]], failed: int | None = None) -> None:
    """Ask processes to end, and kill those that do not end in time.

    Args:
        running: all processes that were started.
        failed: worker that is ending by itself, with an error; then the others have less time.
    """
    own = [] if failed is None else [running[failed]]
    others = [process for process in running if process not in own]
    for process in others:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    now = time.monotonic()
    _wait(others, now + (PATIENCE if failed is None else AFTER_FAILURE))
    _wait(own, now + PATIENCE)


def _wait(processes: Sequence[subprocess.Popen[bytes]], until: Seconds) -> None:
    """Wait for processes that are ending, and kill those that have not ended in time."""
    for process in processes:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """Return a port of this machine that no process listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
