"""What was asked of a run, and who takes part in it: `run.json`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tailcut.errors import InputError
from tailcut.types import Seconds, WorkerId

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Taker:
    """One who takes part: where it runs."""

    worker: WorkerId
    host: str
    process: int
    node: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for.

    Attributes:
        policy, rate: names, as they were given.
        late: `finish` or `abandon`.
        workers: how many.
        total: version at which the run ends, None for when all have left.
        tailcut: its version.
        started: when, by the calendar: ISO 8601 with the time zone.
        clock: seconds on the controller's clock at that moment; rounds are told by this clock.
        host, process: of the controller.
        takers: those who take part, by worker; empty until all are there.
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
        """The same, and who takes part."""
        return replace(self, takers=takers)

    def as_json(self) -> str:
        """As `run.json` says it."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"


def read_asked(file: Path) -> Asked:
    """What `run.json` says.

    Raises:
        InputError: there is none, or it is damaged.
    """
    try:
        values: dict[str, Any] = dict(json.loads(file.read_text(encoding="utf-8")))
        if values.pop("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        values["takers"] = tuple(Taker(**taker) for taker in values["takers"])
        return Asked(**values)
    except OSError as error:
        raise InputError(
            f"{file.parent} holds no run that can be read: {file.name} is missing or locked ({error.strerror}). "
            "Give the folder that a run was recorded in."
        ) from error
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{file} is damaged ({error}). Without it the run cannot be read: record another."
        ) from error
