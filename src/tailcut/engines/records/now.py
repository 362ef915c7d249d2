"""What is going on in a run: `now.json`, replaced several times a second."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tailcut.errors import InputError
from tailcut.types import Seconds, WorkerId


@dataclass(frozen=True, slots=True)
class WorkerNow:
    """One worker.

    Attributes:
        worker: its place.
        host, process: where it runs.
        doing: `starts`, `computes`, `waits`, `reduces`, `drops` or `left`.
        version: that it does so at, or goes to.
        seconds: since when, give or take a quarter of a second.
        rounds: closed rounds that it took part in.
        accepted: those its gradient was used in.
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
        """Of its rounds its gradient was used in; None before the first."""
        return self.accepted / self.rounds if self.rounds else None


@dataclass(frozen=True, slots=True)
class Now:
    """The whole run.

    Attributes:
        written: when, in seconds of the calendar's clock (since 1970).
        running: seconds since the controller began.
        version: of the newest parameters.
        rounds: closed.
        cutoffs: gradients used in each of the last rounds.
        seconds_per_round, gradients_per_second: over these; None before the first.
        saved: seconds that waiting for everybody would have added, as far as is known.
        unknown: rounds of which more may have been saved, because somebody's run time is not known.
        over: whether the run has ended. why: it failed; None where it did not.
        workers: by place.
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
        """As `now.json` says it."""
        return json.dumps(asdict(self)) + "\n"


def read_now(file: Path) -> Now | None:
    """What `now.json` says; None where there is none yet.

    Raises:
        InputError: it cannot be read.
    """
    try:
        values: dict[str, Any] = dict(json.loads(file.read_text(encoding="utf-8")))
        values["workers"] = tuple(WorkerNow(**worker) for worker in values["workers"])
        values["cutoffs"] = tuple(values["cutoffs"])
        return Now(**values)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            f"{file} cannot be read ({error.strerror}). Give the folder that a run is recorded in."
        ) from error
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{file} is damaged ({error}). It is not of a run, or of another version."
        ) from error
