"""Restarts of killed processes, one by one, after a pause that doubles each time."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

from tailcut.types import Seconds

PAUSE: Seconds = 0.5
"""Pause before the first restart of a process, in seconds."""
LONGEST: Seconds = 30.0
"""Longest pause between restarts, in seconds."""
STEADY: Seconds = 10.0
"""Uptime of a process, in seconds, after which its next pause is the shortest again."""
CRASHES = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)


def was_killed(code: int) -> bool:
    """Return whether a process was ended from outside. A crash is a failure, though a signal ends it too.

    Example:
        >>> was_killed(-signal.SIGKILL), was_killed(-signal.SIGSEGV), was_killed(1), was_killed(0)
        (True, False, False, False)
    """
    return code < 0 and -code not in CRASHES


@final
@dataclass(slots=True)
class Backoff:
    """Exponential backoff between restarts of one process.

    Attributes:
        pause: pause before the first restart, in seconds.
        longest: longest pause, in seconds.
        steady: uptime that resets the pause, in seconds.
        times: number of restarts since the last reset.

    Example:
        >>> backoff = Backoff(pause=0.5)
        >>> backoff.due(ended=10.0), backoff.due(ended=10.0)
        (10.5, 10.5)
        >>> backoff.begun(10.5)
        >>> backoff.due(ended=11.0)
        12.0
    """

    pause: Seconds = PAUSE
    longest: Seconds = LONGEST
    steady: Seconds = STEADY
    times: int = 0
    _begun: Seconds | None = None

    def due(self, ended: Seconds) -> Seconds:
        """Return the clock's seconds at which a process that ended at `ended` may restart."""
        if self._begun is not None and ended - self._begun >= self.steady:
            self.times = 0
        return float(ended + min(self.longest, self.pause * 2**self.times))

    def begun(self, now: Seconds) -> None:
        """Record a restart."""
        self.times, self._begun = self.times + 1, now


@final
class Restarts:
    """The restarts of killed worker processes.

    Args:
        start: starts the process of a worker.
        most: most restarts of each worker.
        tell: is told of a restart that was not possible; by default that goes to standard error.
    """

    def __init__(
        self,
        start: Callable[[int], subprocess.Popen[bytes]],
        most: int,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._start, self._most = start, most
        self._tell = tell or partial(print, file=sys.stderr, flush=True)
        self._times: dict[int, int] = {}
        self._backoffs: dict[int, Backoff] = {}
        self._ended: dict[int, Seconds] = {}

    def pending(self, running: list[subprocess.Popen[bytes]], resumes: bool) -> list[int]:
        """Return the workers that were killed and are to be started again.

        There are none once a worker has come to the end, or if all have ended and the run cannot resume.

        Args:
            running: the process of each worker.
            resumes: whether workers that are all killed can resume from a checkpoint.
        """
        codes = [process.poll() for process in running]
        if 0 in codes or (None not in codes and not resumes):
            return []
        killed = (worker for worker, code in enumerate(codes) if code is not None and was_killed(code))
        return [worker for worker in killed if self._times.get(worker, 0) < self._most]

    def look(self, running: list[subprocess.Popen[bytes]], now: Seconds, resumes: bool = False) -> None:
        """Start the workers that are `pending` and due."""
        for worker in self.pending(running, resumes):
            backoff = self._backoffs.setdefault(worker, Backoff())
            if now >= backoff.due(self._ended.setdefault(worker, now)):
                backoff.begun(now)
                self._times[worker] = self._times.get(worker, 0) + 1
                del self._ended[worker]
                try:
                    running[worker] = self._start(worker)
                except OSError as problem:
                    # The others are well; there may be room for it the next time.
                    self._tell(f"tailcut: Worker {worker} could not be started again ({problem.strerror}).")
