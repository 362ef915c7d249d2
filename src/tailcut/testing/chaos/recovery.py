"""Measures, by the journals, how long faults delayed other workers, and when killed ones took part again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from tailcut.testing.chaos.journals import Life

SOON = 10.0
"""Seconds after a fault by which the other workers have long continued."""


@final
@dataclass(frozen=True, slots=True)
class Struck:
    """A fault that was carried out.

    Attributes:
        number: its place in the plan, from 0.
        phase: its name in tables of results.
        at: seconds, by the clock of the journals.
        worker: victim; below 0 for the controller.
        also: processes killed with it.
        version: version of the victim; for a fault from outside, the newest in the run.
        deed: as in `Fault`.
        seconds: duration, in seconds.
    """

    number: int
    phase: str
    at: float
    worker: int
    also: tuple[int, ...]
    version: int
    deed: str
    seconds: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Recovery:
    """The cost of one fault.

    Attributes:
        struck: the fault.
        go_on: seconds until every other worker had applied the update of a round that opened after it;
            this includes the rest of the open round and one whole round. Workers that never did are left out;
            None if none did.
        back: seconds until all victims were in an update again; None if one never was, or was not killed.
        mixed: whether some of the others had completed the reduction that was under way, and some had not.
    """

    struck: Struck
    go_on: float | None
    back: float | None
    mixed: bool


@final
@dataclass(frozen=True, slots=True)
class Pace:
    """The mean pace of the workers beside a stopped one, in updates per second.

    Attributes:
        before: pace before the stop, over as much time as the stop lasted.
        during: pace during the stop.
    """

    before: float
    during: float


def strikes(folder: Path) -> list[Struck]:
    """Return all faults noted in a folder, in order of time."""
    told: list[dict[str, Any]] = [json.loads(path.read_text()) for path in folder.iterdir()]
    found = [
        Struck(
            each["number"],
            each["phase"],
            each["at"],
            each["worker"],
            tuple(each["also"]),
            each["version"],
            each["deed"],
            float(each["seconds"]),
        )
        for each in told
    ]
    return sorted(found, key=lambda struck: struck.at)


def recoveries(lives: Sequence[Life], struck: Sequence[Struck]) -> list[Recovery]:
    """Return the cost of each fault."""
    adopted = set(mixed_completions(lives))
    return [_recovery(lives, each, _still(struck, each), adopted) for each in struck]


def paces(lives: Sequence[Life], struck: Sequence[Struck]) -> list[Pace]:
    """Return the pace of the others for each stop that came after as much time without other faults."""
    return [
        Pace(_pace(others, each.at - each.seconds, each.at), _pace(others, each.at, each.at + each.seconds))
        for each in struck
        if each.deed == "stop" and each.seconds > 0.0 and _was_calm_before(struck, each)
        if (others := _throughout(lives, each))
    ]


def _was_calm_before(struck: Sequence[Struck], one: Struck) -> bool:
    """Return whether no other fault was under way in as much time before a fault as it lasts."""
    return not any(
        other is not one and other.at <= one.at and other.at + other.seconds > one.at - one.seconds
        for other in struck
    )


def _throughout(lives: Sequence[Life], struck: Struck) -> list[Life]:
    """Return the lives of other workers that made updates before the span of `Pace` and lived beyond it."""
    begin, end = struck.at - struck.seconds, struck.at + struck.seconds
    return [
        life
        for life in lives
        if life.worker != struck.worker and life.applied and life.applied[0].at <= begin and life.last >= end
    ]


def _pace(lives: Sequence[Life], begin: float, end: float) -> float:
    updates = sum(begin < line.at <= end for life in lives for line in life.applied)
    return updates / len(lives) / (end - begin)


def _still(struck: Sequence[Struck], one: Struck) -> set[int]:
    """Return workers that another fault stops at a fault or up to `SOON` seconds after it."""
    return {
        other.worker
        for other in struck
        if other is not one and other.deed != "kill" and other.at - SOON < one.at < other.at + other.seconds
    }


def mixed_completions(lives: Sequence[Life]) -> Iterator[int]:
    """Return versions whose reduction some workers completed, while others got the result later."""
    completed = {line.version for life in lives for line in life.lines if line.what == "reduced"}
    seen: set[int] = set()
    for life in lives:
        reducing = stopped = -1
        for line in life.lines:
            if line.what == "reducing":
                reducing = line.version
            elif line.what == "stopped" and line.version == reducing:
                stopped = line.version
            elif line.what == "reduced":
                stopped = -1
            elif line.what == "applied" and line.version == stopped + 1:
                if stopped in completed and stopped not in seen:
                    seen.add(stopped)
                    yield stopped
                stopped = -1


def _recovery(lives: Sequence[Life], struck: Struck, still: set[int], adopted: set[int]) -> Recovery:
    newest = max((line.version for life in lives for line in life.applied if line.at <= struck.at), default=0)
    victims = {struck.worker, *struck.also}
    others = [
        life
        for life in lives
        if life.worker not in victims | still and life.applied and life.applied[0].at <= struck.at < life.last
    ]
    times = [_first(life, struck.at, newest + 2) for life in others]
    # A worker that is struck itself before it continues says nothing about this fault.
    went_on = [when for when in times if when is not None]
    back = [_back(lives, worker, struck.at) for worker in victims if worker >= 0]
    known = [when for when in back if when is not None]
    return Recovery(
        struck,
        max(went_on) - struck.at if went_on else None,
        max(known) - struck.at if known and len(known) == len(back) and struck.deed == "kill" else None,
        newest in adopted,
    )


def _first(life: Life, after: float, version: int) -> float | None:
    return next((line.at for line in life.applied if line.at > after and line.version >= version), None)


def _back(lives: Sequence[Life], worker: int, after: float) -> float | None:
    """Return the clock's seconds when a later life of a worker was first in an update; None if never."""
    later = (life for life in lives if life.worker == worker and life.began > after)
    return min(
        (line.at for life in later for line in life.applied if worker in line.accepted),
        default=None,
    )
