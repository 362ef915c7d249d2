"""The settings of a run, and the workers that take part in it: `run.json`."""

from __future__ import annotations

import json
import reprlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tailcut.bounded_files import read_json
from tailcut.errors import InputError, one_line
from tailcut.typed_values import typed
from tailcut.types import Seconds, WorkerId

FORMAT = 1
MAX_WORKERS = 1_000_000
"""Most workers that a run is believed to have."""


@dataclass(frozen=True, slots=True)
class Taker:
    """One worker that takes part: where it runs."""

    worker: WorkerId
    host: str
    process: int
    node: int


@dataclass(frozen=True, slots=True)
class Asked:
    """The settings of a run.

    Attributes:
        policy, rate: names of the policy and the learning-rate rule, as they were given.
        late: `finish` or `abandon`.
        workers: number of workers.
        total: version at which the run ends, None for when all have left.
        tailcut: version of tailcut.
        started: date and time of the start, in ISO 8601 with the time zone.
        clock: seconds on the controller's clock at that moment; times of rounds are on this clock.
        host, process: host name and process id of the controller.
        takers: the workers that take part, in order; empty until all are there.
    """

    policy: str
    rate: str
    late: str
    workers: int
    total: int | None
    tailcut: str
    started: str
    clock: Seconds
    host: str
    process: int
    takers: tuple[Taker, ...] = ()

    def with_takers(self, takers: tuple[Taker, ...]) -> Asked:
        """Return the same settings, with the workers that take part."""
        return replace(self, takers=takers)

    def as_json(self) -> str:
        """Return the text of `run.json`."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"


def read_asked(file: Path) -> Asked:
    """Return the settings in `run.json`.

    Raises:
        InputError: there is no such file, or it is damaged.
    """
    try:
        values = read_json(file)
        if values.pop("format", None) != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        asked = typed(Asked, values)
        _check(asked)
        return asked
    except OSError as error:
        raise InputError(
            f"{file.parent} holds no run that can be read: {file.name} cannot be opened ({error.strerror}). "
            "Give the folder that a run was recorded in."
        ) from error
    except ValueError as error:
        raise InputError(
            f"{file} is damaged ({one_line(error)}). Without it the run cannot be read: record another."
        ) from error


def _check(asked: Asked) -> None:
    """Raise a ValueError where the values contradict each other or cannot be."""
    if not 1 <= asked.workers <= MAX_WORKERS:
        raise ValueError(f"workers must be from 1 to {MAX_WORKERS:,}, but is {asked.workers}")
    if asked.late not in ("abandon", "finish"):
        raise ValueError(f"late must be 'abandon' or 'finish', but is {reprlib.repr(asked.late)}")
    if len({taker.worker for taker in asked.takers}) < len(asked.takers) or len(asked.takers) > asked.workers:
        raise ValueError(f"its {len(asked.takers)} takers are not different ones of {asked.workers} workers")
