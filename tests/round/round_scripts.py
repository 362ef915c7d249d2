"""Hand-made scripts of events for the state machine: a forecaster that remembers, a rule that obeys, and shorthands."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from tailcut.acceptance import (
    SYNCHRONOUS,
    Acceptance,
)
from tailcut.events import (
    Applied,
    Arrived,
    CloseRound,
    Command,
    Event,
    Joined,
    OpenRound,
)
from tailcut.forecast import Forecaster
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import Opening, Rule
from tailcut.types import (
    Decision,
    Forecast,
    IntArray,
    Progress,
    Roster,
    RoundRecord,
    RunTimes,
)

INF, NAN = math.inf, math.nan


@final
@dataclass(frozen=True, slots=True)
class Heard(Forecaster[tuple[RunTimes, ...]]):
    """Foresees nothing; its belief is all that it was told."""

    def start(self) -> tuple[RunTimes, ...]:
        return ()

    def learn(self, belief: tuple[RunTimes, ...], seen: RunTimes) -> tuple[RunTimes, ...]:
        return (*belief, seen)

    def forecast(self, belief: tuple[RunTimes, ...], roster: Roster) -> Forecast | None:
        return None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Says(Rule[None, Opening]):
    """Decides as it is told to, and keeps what it was asked."""

    decision: Callable[[Progress], Decision]
    finish: tuple[int, ...] = ()
    deadline: float | None = None
    welcome: tuple[int, ...] = ()
    idle: tuple[int, ...] = ()
    openings: list[Opening] = field(default_factory=list)
    asked: list[tuple[float, int]] = field(default_factory=list)

    def start(self) -> None:
        pass

    def plan(self, memory: None, opening: Opening) -> Opening:
        self.openings.append(opening)
        return opening

    def decide(self, plan: Opening, progress: Progress) -> Decision:
        self.asked.append((progress.elapsed, progress.count))
        return self.decision(progress)

    def finishers(self, memory: None, record: RoundRecord) -> IntArray:
        return np.array(self.finish, dtype=np.int64)

    def worker_deadline(self, plan: Opening) -> float | None:
        return self.deadline

    def welcome_stale(self, plan: Opening) -> IntArray:
        return np.array(self.welcome, dtype=np.int64)

    def worth_starting(self, plan: Opening, position: int, elapsed: float) -> bool:
        return int(plan.roster.workers[position]) not in self.idle


def rounds(
    rule: Rule[Any, Any],
    n: int = 3,
    acceptance: Acceptance = SYNCHRONOUS,
    late_finish: bool = False,
    overhead: float = 0.0,
) -> Rounds:
    """A run of n workers whose first round has opened at 0."""
    machine = Rounds(Policy(Heard(), rule), acceptance, late_finish, overhead)
    for worker in range(n):
        assert machine.handle(Joined(0.0, worker)) == []
    assert machine.handle(Applied(0.0, 0)) == [
        OpenRound(0, tuple(range(n)), machine.policy.worker_deadline(None))
    ]
    machine.think()
    return machine


def play(machine: Rounds, *events: Event) -> list[Command]:
    """The commands of all events together, from an engine that lets the machine think after each."""
    return [command for event in events for command in (*machine.handle(event), *machine.think())]


def arrived(now: float, worker: int, version: int = 0, run_time: float | None = None, **more: Any) -> Arrived:
    """An arrival whose run time is the clock's unless said."""
    return Arrived(now, worker, version, now if run_time is None else run_time, **more)


def closing(commands: list[Command]) -> CloseRound:
    """The one close among the commands."""
    [close] = [command for command in commands if isinstance(command, CloseRound)]
    return close


def who(close: CloseRound) -> list[int]:
    return [gradient.worker for gradient in close.accepted]


def heard(machine: Rounds) -> list[tuple[bool, dict[int, tuple[float, bool]]]]:
    """Return the reports that the policy has learnt, oldest first: late or not, (seconds, observed)."""
    belief: tuple[RunTimes, ...] = machine.state.belief
    return [
        (
            seen.late,
            dict(zip(seen.workers.tolist(), zip(seen.seconds, seen.observed, strict=True), strict=True)),
        )
        for seen in belief
    ]
