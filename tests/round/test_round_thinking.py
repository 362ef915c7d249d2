"""A policy learns, forecasts and plans only while no worker waits for a close or an opening."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import pytest
from round_scripts import arrived, closing, play

from tailcut.events import Applied, Arrived, CloseRound, Joined, Left, OpenRound, Tick, WakeAt
from tailcut.forecast import NoForecast
from tailcut.policy import Policy, PolicyState, PolicyWrapper
from tailcut.round import Rounds
from tailcut.rules import (
    Backup,
    Deadline,
    Explore,
    Fair,
    Floor,
    MicroDeadline,
    Opening,
    Rule,
    Stopping,
    WarmUp,
)
from tailcut.types import Decision, IntArray, Progress, Roster, RoundRecord, RunTimes


@final
@dataclass
class Noted(PolicyWrapper):
    """Notes what it is asked."""

    inner: Policy
    asked: list[str] = field(default_factory=list)

    def plan(self, state: PolicyState, roster: Roster, overhead: float, late_finish: bool) -> Any:
        self.asked.append("plan")
        return self.inner.plan(state, roster, overhead, late_finish)

    def decide(self, plan: Any, progress: Progress) -> Decision:
        self.asked.append("decide")
        return self.inner.decide(plan, progress)

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        self.asked.append("learn")
        return self.inner.learn(state, plan, record, reports)

    def finishers(self, state: PolicyState, record: RoundRecord) -> IntArray:
        self.asked.append("finishers")
        return self.inner.finishers(state, record)

    def taken(self) -> list[str]:
        asked, self.asked = self.asked, []
        return asked


def run(rule: Rule[Any, Any], n: int = 2) -> tuple[Rounds, Noted]:
    noted = Noted(Policy(NoForecast(), rule))
    machine = Rounds(noted)
    for worker in range(n):
        machine.handle(Joined(0.0, worker))
    return machine, noted


def test_an_opening_and_a_close_ask_for_no_plan_and_no_lesson() -> None:
    machine, noted = run(Backup(c=1))
    assert machine.handle(Applied(0.0, 0)) == [OpenRound(0, (0, 1))]
    assert noted.taken() == []
    assert machine.think() == []
    assert noted.taken() == ["plan", "decide"]
    assert closing(machine.handle(arrived(1.0, 0))).abandon == (1,)
    assert noted.taken() == ["decide", "finishers"]
    assert machine.think() == [], "everybody waits for the next parameters"
    assert noted.taken() == []
    assert machine.handle(Applied(1.5, 1)) == [OpenRound(1, (0, 1))]
    assert noted.taken() == []
    machine.think()
    assert noted.taken() == ["learn", "plan", "decide"]
    assert machine.think() == []
    assert noted.taken() == []


@pytest.mark.parametrize("event", [Tick(0.25), Arrived(0.25, 0, 0, 0.25), Left(0.25, 0), Joined(0.25, 9)])
def test_whatever_comes_next_is_thought_about_after_the_opening(event: Any) -> None:
    machine, noted = run(Deadline(seconds=1.0))
    machine.handle(Applied(0.0, 0))
    assert machine.handle(event)[0] == WakeAt(1.0)
    assert noted.taken()[:2] == ["plan", "decide"]
    assert machine.now == 0.25


def test_an_event_that_is_refused_makes_nobody_think() -> None:
    machine, noted = run(Deadline(seconds=1.0))
    machine.handle(Applied(3.0, 0))
    with pytest.raises(ValueError, match="order of time"):
        machine.handle(Tick(2.0))
    assert noted.taken() == []
    assert machine.think() == [WakeAt(4.0)]


def test_the_state_has_learnt_every_closed_round_whenever_it_is_read() -> None:
    machine, noted = run(Fair(Backup(c=1), most_rounds=9))
    machine.handle(Applied(0.0, 0))
    assert machine.state.memory.without.tolist() == []
    machine.handle(arrived(1.0, 0))
    assert machine.state.memory.without.tolist() == [0, 1]
    assert machine.state is machine.state
    assert noted.taken() == ["plan", "decide", "decide", "finishers", "learn"]
    play(machine, Applied(1.0, 1), arrived(2.0, 0, version=1))
    assert noted.taken() == ["plan", "decide", "decide", "finishers"]
    machine.handle(Applied(2.0, 2))
    assert machine.state.memory.without.tolist() == [0, 2]
    assert noted.taken() == ["learn"]


def test_a_state_that_is_put_in_is_not_taught_what_another_run_saw() -> None:
    machine, noted = run(Fair(Backup(c=1), most_rounds=9))
    start = machine.state
    play(machine, Applied(0.0, 0), arrived(1.0, 0))
    machine.state = start
    play(machine, Applied(1.0, 1))
    assert machine.state is start
    assert "learn" not in noted.taken()


def test_a_round_that_is_complete_as_it_opens_closes_when_it_is_thought_about() -> None:
    machine, noted = run(Explore(Fair(Backup(c=1), most_rounds=1, how="stale"), first=1))
    play(machine, Applied(0.0, 0), arrived(1.0, 0), Left(1.0, 0), arrived(1.5, 1))
    noted.taken()
    opened, *settled = machine.handle(Applied(2.0, 1))
    assert opened == OpenRound(1, ())
    assert len(settled) == 1
    [close] = machine.think()
    assert isinstance(close, CloseRound)
    assert close.record.staleness.tolist() == [1]
    assert close.record.elapsed == 0.0


WITH_PLAN = {
    "micro": MicroDeadline(threshold=0.5),
    "fair, stale": Fair(Backup(c=1), most_rounds=1, how="stale"),
    "warm-up": WarmUp(MicroDeadline(threshold=0.5)),
    "explore": Explore(MicroDeadline(threshold=0.5)),
    "floor": Floor(MicroDeadline(threshold=0.5), least=1),
    "fair": Fair(MicroDeadline(threshold=0.5), most_rounds=1),
}
WITHOUT = {
    "backup": Backup(c=1),
    "fair": Fair(Floor(Explore(WarmUp(Stopping())), least=2), most_rounds=1),
}


@pytest.mark.parametrize("rule", WITH_PLAN.values(), ids=WITH_PLAN.keys())
def test_a_rule_that_says_how_workers_start_plans_before_they_do(rule: Rule[Any, Any]) -> None:
    assert rule.opens_with_plan
    machine, noted = run(rule)
    [opened] = machine.handle(Applied(0.0, 0))
    assert isinstance(opened, OpenRound)
    assert opened.deadline == rule.worker_deadline(rule.plan(rule.start(), Opening(Roster.of(2), None)))
    assert noted.taken() == ["plan"]
    machine.think()
    assert noted.taken() == ["decide"]
    play(machine, arrived(0.5, 0, share=0.5), arrived(0.5, 1, share=0.5))
    noted.taken()
    machine.handle(Applied(1.0, 1))
    assert noted.taken() == ["learn", "plan"]


@pytest.mark.parametrize("rule", WITHOUT.values(), ids=WITHOUT.keys())
def test_a_rule_that_does_not_plans_afterwards(rule: Rule[Any, Any]) -> None:
    assert not rule.opens_with_plan
    machine, noted = run(rule)
    machine.handle(Applied(0.0, 0))
    assert noted.taken() == []


def test_a_policy_that_thinks_late_hands_finishers_what_it_knew_before_the_round() -> None:
    machine, _ = run(Explore(Backup(c=1), first=2), n=3)
    play(machine, Applied(0.0, 0))
    assert closing(machine.handle(arrived(1.0, 0))).abandon == (1, 2)
    machine.handle(Applied(1.0, 1))
    assert closing(machine.handle(arrived(2.0, 0, version=1))).abandon == (2,)
    assert np.array_equal(machine.state.memory.cuts, [0, 2, 2])
