"""Slow mini-batches: by chance, or always at one worker, in every way known from real machines."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

ALWAYS = 20.0
"""Units that a mini-batch takes at a worker that is always late."""
GIL_CALL = 0.3
"""Seconds of one C call that holds the GIL."""
KINDS = ("sleeps", "burns", "holds the GIL", "has a 10 % share", "is stopped")


@dataclass(slots=True)
class Trouble:
    """The mini-batches of one worker.

    Attributes:
        unit: seconds of a mini-batch when nothing is wrong.
        chance, times: probability that a mini-batch takes `times` as long.
        kind: how this worker is always late; empty if it is not.
        worker: its number, which also seeds its draws.
    """

    unit: float
    chance: float
    times: float
    kind: str
    worker: int
    draws: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.draws = random.Random(self.worker)

    @property
    def seconds(self) -> float:
        """Seconds that the next mini-batch takes."""
        if self.kind:
            return self.unit * ALWAYS
        return self.unit * (self.times if self.draws.random() < self.chance else 1.0)

    def work(self, seconds: float) -> None:
        """Let time pass the way it does at this worker."""
        until = time.monotonic() + seconds
        if self.kind == "burns":
            while time.monotonic() < until:
                sum(range(10_000))
        elif self.kind == "holds the GIL":
            while time.monotonic() < until:
                ctypes.PyDLL(None).usleep(int(1e6 * GIL_CALL))
        else:
            time.sleep(seconds)


@contextmanager
def torment(kind: str) -> Iterator[None]:
    """Have another process stop this one again and again, as a machine that is given to others does."""
    rhythm = {"has a 10 % share": (0.01, 0.09), "is stopped": (0.3, 2.0)}.get(kind)
    if rhythm is None:
        yield
        return
    command = [sys.executable, __file__, str(os.getpid()), *map(str, rhythm)]
    tormentor = subprocess.Popen(command)
    try:
        yield
    finally:
        tormentor.terminate()
        tormentor.wait()


def stop_and_go(process: int, runs: float, stands: float) -> None:
    """Stop and continue a process in turn, until it or the process that asked for this has ended."""

    def end(*_: object) -> None:
        os.kill(process, signal.SIGCONT)
        sys.exit()

    signal.signal(signal.SIGTERM, end)
    try:
        while os.getppid() == process:
            time.sleep(runs)
            os.kill(process, signal.SIGSTOP)
            time.sleep(stands)
            os.kill(process, signal.SIGCONT)
    except ProcessLookupError:
        pass


if __name__ == "__main__":
    stop_and_go(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
