"""The current state of a run: `now.json`, replaced several times a second."""

from __future__ import annotations

import json
import reprlib
from dataclasses import asdict, dataclass
from pathlib import Path

from tailcut.bounded_files import read_json
from tailcut.errors import InputError, one_line
from tailcut.typed_values import typed
from tailcut.types import Seconds, WorkerId

DOING = ("starts", "computes", "waits", "reduces", "drops", "left")
"""Names of all activities of a worker."""
MAX_SECONDS: Seconds = 1e12
"""Longest time that is believed, in seconds: 30,000 years."""


@dataclass(frozen=True, slots=True)
class WorkerNow:
    """The current state of one worker.

    Attributes:
        worker: its place, from 0.
        host, process: host name and process id of the worker.
        doing: its activity, one of `DOING`.
        version: version that it does so at, or goes to.
        seconds: time since it began to, in seconds, give or take a quarter of a second.
        rounds: closed rounds that it took part in.
        accepted: number of these rounds that its gradient was used in.
    """

    worker: WorkerId
    host: str
    process: int
    doing: str
    version: int
    seconds: Seconds
    rounds: int
    accepted: int

    @property
    def share(self) -> float | None:
        """Return the share of its rounds that its gradient was used in; None before the first."""
        return self.accepted / self.rounds if self.rounds else None


@dataclass(frozen=True, slots=True)
class Now:
    """The current state of the whole run.

    Attributes:
        written: time of the writing, in seconds since 1970.
        running: seconds since the controller began.
        version: version of the newest parameters.
        rounds: number of closed rounds.
        cutoffs: gradients used in each of the last rounds.
        seconds_per_round, gradients_per_second: means over these rounds; None before the first.
        saved: seconds that waiting for all workers would have added, as far as is known.
        unknown: rounds of which more may have been saved, because a worker's run time is not known.
        over: whether the run has ended. why: reason why it failed; None where it did not.
        workers: state of each worker, by place.
    """

    written: Seconds
    running: Seconds
    version: int
    rounds: int
    cutoffs: tuple[int, ...]
    seconds_per_round: Seconds | None
    gradients_per_second: float | None
    saved: Seconds
    unknown: int
    over: bool
    why: str | None
    workers: tuple[WorkerNow, ...]

    def as_json(self) -> str:
        """Return the text of `now.json`."""
        return json.dumps(asdict(self)) + "\n"


def read_now(file: Path, workers: int | None = None) -> Now | None:
    """Return the state in `now.json`; None where there is no such file yet.

    Args:
        file: `now.json` of a run.
        workers: number of workers of the run, where that is known.

    Raises:
        InputError: it cannot be read.
    """
    try:
        now = typed(Now, read_json(file))
        _check(now, workers)
        return now
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            f"{file} cannot be read ({error.strerror}). Give the folder that a run is recorded in."
        ) from error
    except ValueError as error:
        raise InputError(
            f"{file} is damaged ({one_line(error)}). It is not of a run, or of another version."
        ) from error


def _check(now: Now, workers: int | None) -> None:
    """Raise a ValueError where the values contradict each other or cannot be."""
    times = (now.running, now.saved, *(worker.seconds for worker in now.workers))
    counts = (now.version, now.rounds, now.unknown, *now.cutoffs, *(worker.worker for worker in now.workers))
    for value in (*times, now.seconds_per_round or 0.0, now.gradients_per_second or 0.0, *counts):
        if value < 0:
            raise ValueError(f"a time or a count must be 0 or more, but is {value}")
    if max(now.written, *times) > MAX_SECONDS:
        raise ValueError(f"a time must be at most {MAX_SECONDS:.0e} s, but is {max(now.written, *times):g}")
    if len({worker.worker for worker in now.workers}) < len(now.workers):
        raise ValueError("a worker is there twice")
    for worker in now.workers:
        if workers is not None and worker.worker >= workers:
            raise ValueError(
                f"worker {worker.worker} is none of the run's {workers} workers, numbered from 0"
            )
        if worker.doing not in DOING:
            raise ValueError(f"a worker does one of {', '.join(DOING)}, but not {reprlib.repr(worker.doing)}")
        if not 0 <= worker.accepted <= worker.rounds:
            raise ValueError(
                f"worker {worker.worker} was accepted in {worker.accepted} of {worker.rounds} rounds"
            )
