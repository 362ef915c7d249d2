"""Events into the state machine of `round.py` and commands out of it: plain records, with time as a field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tailcut.types import NO_NODE, Fate, Measured, RoundRecord, Seconds, WorkerId


@dataclass(frozen=True, slots=True)
class Joined:
    """A worker has joined; it takes part from the next opening on."""

    now: Seconds
    worker: WorkerId
    node: int = NO_NODE


@dataclass(frozen=True, slots=True)
class Left:
    """A worker has left; what it was computing is lost."""

    now: Seconds
    worker: WorkerId


@dataclass(frozen=True, slots=True)
class Arrived:
    """A worker's gradient for `version` is in.

    Attributes:
        now: the clock's seconds.
        worker: id of the worker.
        version: version of the parameters the gradient was computed for.
        run_time: the worker's own measured seconds.
        share: part of its mini-batch the gradient covers; under 1 the worker stopped early, at its deadline.
        finite: False if the gradient overflowed; it must still arrive, or the round would wait for it.
    """

    now: Seconds
    worker: WorkerId
    version: int
    run_time: Seconds
    share: float = 1.0
    finite: bool = True


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Several gradients are in at one instant: the rule is asked once, when all of them have been counted.

    Their order matters only where the acceptance `is_sequential`.

    Attributes:
        arrivals: two or more, all with the same `now`.
    """

    arrivals: tuple[Arrived, ...]

    def __post_init__(self) -> None:
        if len({arrival.now for arrival in self.arrivals}) != 1:
            raise ValueError(
                f"Arrivals delivered together must be of one instant, but got {self.arrivals}. "
                "Deliver each instant by itself."
            )

    @property
    def now(self) -> Seconds:
        """The clock's seconds at which all of them arrived."""
        return self.arrivals[0].now


def merge_arrivals(arrivals: Sequence[Arrived]) -> Arrived | Arrivals:
    """Return the one event that delivers the arrivals of one instant, of which there is at least one."""
    return arrivals[0] if len(arrivals) == 1 else Arrivals(tuple(arrivals))


def arrivals_of(event: Event) -> tuple[Arrived, ...]:
    """Return the arrivals that an event delivers; none for an event of another kind.

    Example:
        >>> arrivals_of(Tick(1.0))
        ()
    """
    match event:
        case Arrived():
            return (event,)
        case Arrivals():
            return event.arrivals
        case _:
            return ()


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has come to `now`; answers a `WakeAt`."""

    now: Seconds


@dataclass(frozen=True, slots=True)
class Applied:
    """The parameters of `version` are out: the round for them may open. Version 0 starts the run.

    Attributes:
        now: the clock's seconds.
        version: version of the parameters.
        measured: what the gradients of the update to them showed; None where they were not measured.
    """

    now: Seconds
    version: int
    measured: Measured | None = None


Event: TypeAlias = Joined | Left | Arrived | Arrivals | Tick | Applied


@dataclass(frozen=True, slots=True)
class OpenRound:
    """The round for `version` is open; `workers` start on it now, each stopping by itself after `deadline` seconds."""

    version: int
    workers: tuple[WorkerId, ...]
    deadline: Seconds | None = None


@dataclass(frozen=True, slots=True)
class StartWork:
    """One worker starts on `version` while its round is already open."""

    worker: WorkerId
    version: int
    deadline: Seconds | None = None


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send a `Tick` at `now` unless the round has closed by then. A later `WakeAt` replaces an earlier one."""

    now: Seconds


@dataclass(frozen=True, slots=True)
class Accepted:
    """One gradient that goes into the update."""

    worker: WorkerId
    version: int
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class CloseRound:
    """The round is closed, once: reduce `accepted`, apply, and answer with `Applied(version + 1)`.

    `abandon` are the workers that must drop what they are computing.
    """

    version: int
    accepted: tuple[Accepted, ...]
    abandon: tuple[WorkerId, ...]
    record: RoundRecord


@dataclass(frozen=True, slots=True)
class Settle:
    """The fate of a gradient that was pending when its round closed."""

    worker: WorkerId
    version: int
    fate: Fate
    run_time: Seconds


Command: TypeAlias = OpenRound | StartWork | WakeAt | CloseRound | Settle
