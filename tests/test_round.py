"""The state machine, by hand-made scripts of events."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import pytest

from tailcut.acceptance import (
    ASYNCHRONOUS,
    BATCH_SYNCHRONOUS,
    STALE_SYNCHRONOUS,
    SYNCHRONOUS,
    Acceptance,
    bounded_stale,
)
from tailcut.events import (
    Accepted,
    Applied,
    Arrived,
    CloseRound,
    Command,
    Event,
    Joined,
    Left,
    OpenRound,
    Settle,
    StartWork,
    Tick,
    WakeAt,
)
from tailcut.forecast import Forecaster, NoForecast, Trend
from tailcut.policy import Policy
from tailcut.round import MEASURED_OVER, Rounds
from tailcut.rules import Backup, Deadline, Opening, Rule, Stopping, WaitAll, WarmUp
from tailcut.types import (
    Close,
    Decision,
    Fate,
    Forecast,
    IntArray,
    Progress,
    Roster,
    RoundRecord,
    RunTimes,
    Wait,
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
    opened = machine.handle(Applied(0.0, 0))
    assert opened[0] == OpenRound(0, tuple(range(n)), machine.policy.worker_deadline(None))
    return machine


def play(machine: Rounds, *events: Event) -> list[Command]:
    """The commands of all events together."""
    return [command for event in events for command in machine.handle(event)]


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
    """What the policy has learnt, oldest first: whether late, and (seconds, observed) of each worker."""
    belief: tuple[RunTimes, ...] = machine.state.belief
    return [
        (
            seen.late,
            dict(zip(seen.workers.tolist(), zip(seen.seconds, seen.observed, strict=True), strict=True)),
        )
        for seen in belief
    ]


# Opening.


def test_a_round_opens_with_everyone_who_is_there_in_the_order_of_their_ids() -> None:
    machine = Rounds(Policy(NoForecast(), WaitAll()))
    assert play(machine, Joined(0.0, 5), Joined(0.5, 1), Joined(1.0, 3, node=7)) == []
    assert machine.handle(Applied(2.0, 0)) == [OpenRound(0, (1, 3, 5))]


def test_the_roster_tells_nodes_and_who_is_free() -> None:
    rule = Says(lambda _: Wait())
    machine = Rounds(Policy(NoForecast(), rule))
    play(machine, Joined(0.0, 5, node=2), Joined(0.5, 1), Applied(2.0, 0))
    roster = rule.openings[0].roster
    assert roster.workers.tolist() == [1, 5]
    assert roster.nodes.tolist() == [-1, 2]
    assert np.isnan(roster.busy).all()


def test_without_workers_a_round_opens_when_the_first_one_joins() -> None:
    machine = Rounds(Policy(NoForecast(), WaitAll()))
    assert machine.handle(Applied(1.0, 0)) == []
    assert machine.handle(Joined(3.0, 4)) == [OpenRound(0, (4,))]
    assert closing(machine.handle(arrived(5.0, 4, run_time=2.0))).record.elapsed == 2.0


def test_who_joins_during_a_round_takes_part_in_the_next_one() -> None:
    machine = rounds(WaitAll(), n=2)
    assert machine.handle(Joined(0.5, 9)) == []
    assert machine.handle(arrived(0.8, 9)) == []
    close = closing(play(machine, arrived(1.0, 0), arrived(1.0, 1)))
    assert close.record.roster.workers.tolist() == [0, 1]
    assert machine.handle(Applied(1.0, 1)) == [OpenRound(1, (0, 1, 9))]


def test_a_run_may_begin_with_any_version_and_goes_on_from_there() -> None:
    machine = Rounds(Policy(NoForecast(), WaitAll()))
    play(machine, Joined(0.0, 0))
    assert machine.handle(Applied(0.0, 41)) == [OpenRound(41, (0,))]
    assert closing(machine.handle(arrived(1.0, 0, version=41))).version == 41
    assert machine.handle(Applied(1.0, 42)) == [OpenRound(42, (0,))]


@pytest.mark.parametrize("version", [-1, 0, 2, 7])
def test_parameters_that_nobody_waits_for_change_nothing(version: int) -> None:
    machine = rounds(WaitAll(), n=1)
    machine.handle(arrived(1.0, 0))
    assert machine.handle(Applied(1.5, version)) == []
    assert machine.handle(Applied(2.0, 1)) == [OpenRound(1, (0,))]


def test_parameters_are_out_once_and_not_before_the_round_has_closed() -> None:
    machine = rounds(WaitAll(), n=1)
    assert machine.handle(Applied(0.5, 1)) == []
    machine.handle(arrived(1.0, 0))
    assert machine.handle(Applied(1.0, 1)) == [OpenRound(1, (0,))]
    assert machine.handle(Applied(1.0, 1)) == []
    assert machine.handle(Applied(1.5, 2)) == []
    assert machine.handle(arrived(2.0, 0, version=1))


def test_no_later_version_is_out_while_a_round_waits_for_workers() -> None:
    machine = Rounds(Policy(NoForecast(), WaitAll()))
    play(machine, Applied(0.0, 0), Applied(1.0, 1))
    assert machine.handle(Joined(2.0, 0)) == [OpenRound(0, (0,))]


# Closing.


def test_a_round_closes_at_its_count_with_the_first_arrivals_in_order() -> None:
    machine = rounds(Backup(c=2), n=4)
    assert machine.handle(arrived(1.0, 3)) == []
    [close] = machine.handle(arrived(1.5, 1))
    assert isinstance(close, CloseRound)
    assert close.version == 0
    assert close.accepted == (Accepted(3, 0, 1.0), Accepted(1, 0, 1.0))
    assert close.abandon == (0, 2)
    record = close.record
    assert (record.version, record.opened, record.elapsed, record.count, record.value) == (
        0,
        0.0,
        1.5,
        2,
        2.0,
    )
    assert record.arrivals.tolist() == [INF, 1.5, INF, 1.0]
    assert record.accepted.tolist() == [0, 1, 0, 1]
    assert record.shares.tolist() == [1.0] * 4
    assert record.fates.tolist() == [Fate.ABANDONED, Fate.USED, Fate.ABANDONED, Fate.USED]
    assert record.staleness.tolist() == [0, 0]


def test_seconds_count_from_the_opening() -> None:
    machine = rounds(WaitAll(), n=1)
    play(machine, arrived(1.0, 0), Applied(4.0, 1))
    record = closing(machine.handle(arrived(6.5, 0, version=1, run_time=2.5))).record
    assert (record.opened, record.elapsed, record.arrivals.tolist()) == (4.0, 2.5, [2.5])


def test_a_round_closes_by_itself_once_everybody_is_in() -> None:
    rule = Says(lambda _: Wait(count=99, until=99.0))
    machine = rounds(rule, n=2)
    machine.handle(arrived(1.0, 0))
    assert who(closing(machine.handle(arrived(2.0, 1)))) == [0, 1]
    assert rule.asked == [(0.0, 0)]


def test_a_rule_is_asked_at_its_wake_up_and_not_before() -> None:
    machine = Rounds(Policy(NoForecast(), Deadline(seconds=1.5)))
    play(machine, Joined(10.0, 0), Joined(10.0, 1))
    assert machine.handle(Applied(10.0, 0)) == [OpenRound(0, (0, 1)), WakeAt(11.5)]
    assert play(machine, arrived(11.0, 1), Tick(11.25)) == []
    close = closing(machine.handle(Tick(11.5)))
    assert who(close) == [1]
    assert close.record.elapsed == 1.5


def test_a_tick_of_an_earlier_round_changes_nothing() -> None:
    machine = rounds(Deadline(seconds=3.0), n=2)
    play(machine, arrived(1.0, 0), arrived(1.0, 1))
    assert machine.handle(Tick(2.0)) == []
    machine.handle(Applied(2.0, 1))
    assert play(machine, arrived(2.5, 0, version=1), Tick(3.0), Tick(4.5)) == []
    assert closing(machine.handle(Tick(5.0))).version == 1


def test_a_later_wake_up_replaces_an_earlier_one() -> None:
    machine = rounds(Says(lambda p: Wait(count=p.count + 1, until=5.0 if p.count else 1.0)), n=3)
    assert machine.handle(arrived(0.5, 0)) == [WakeAt(5.0)]
    assert machine.handle(Tick(1.0)) == []
    assert machine.handle(Tick(5.0)) == [WakeAt(5.0)]


def test_closing_with_nothing_becomes_waiting_for_one() -> None:
    rule = Says(lambda _: Close())
    machine = rounds(rule, n=2)
    assert rule.asked == [(0.0, 0)]
    assert machine.handle(Tick(4.0)) == []
    assert who(closing(machine.handle(arrived(5.0, 1)))) == [1]


def test_a_deadline_that_found_nobody_closes_at_the_first_arrival() -> None:
    machine = rounds(Deadline(seconds=1.0), n=3)
    assert machine.handle(Tick(1.0)) == []
    assert who(closing(machine.handle(arrived(1.25, 2)))) == [2]


def test_all_who_arrive_at_the_very_moment_of_the_wake_up_are_in_time() -> None:
    machine = rounds(Deadline(seconds=1.0), n=3)
    assert play(machine, arrived(1.0, 2), arrived(1.0, 0)) == []
    assert who(closing(machine.handle(Tick(1.0)))) == [2, 0]


def test_an_arrival_after_a_wake_up_that_was_missed_asks_the_rule() -> None:
    machine = rounds(Deadline(seconds=1.0), n=3)
    machine.handle(arrived(0.5, 1))
    assert who(closing(machine.handle(arrived(1.5, 0)))) == [1, 0]


def test_at_a_wake_up_no_less_has_elapsed_than_was_asked_for_however_the_clock_rounds() -> None:
    machine = Rounds(Policy(NoForecast(), Deadline(seconds=0.1)))
    play(machine, Joined(0.0, 0), Joined(0.0, 1))
    # Seconds since 1970: 0.1 later the difference is 0.0999999…
    [_, wake] = machine.handle(Applied(1.7e9, 0))
    assert isinstance(wake, WakeAt)
    assert wake.now - 1.7e9 < 0.1
    machine.handle(arrived(1.7e9, 0, run_time=0.05))
    assert closing(machine.handle(Tick(wake.now)))


def test_nothing_is_accepted_after_the_close() -> None:
    machine = rounds(Backup(c=1), n=3)
    close = closing(machine.handle(arrived(1.0, 0)))
    assert play(machine, arrived(1.0, 1), arrived(1.0, 2), Tick(9.0)) == []
    assert who(close) == [0]
    assert close.record.accepted.tolist() == [1, 0, 0]


# Late work.


def test_abandoned_work_that_comes_all_the_same_is_ignored() -> None:
    machine = rounds(Backup(c=1), n=2)
    assert closing(machine.handle(arrived(1.0, 0))).abandon == (1,)
    assert machine.handle(arrived(1.25, 1)) == []
    assert machine.handle(Applied(2.0, 1)) == [OpenRound(1, (0, 1))]
    assert machine.handle(arrived(2.25, 1, version=0)) == []
    assert who(closing(machine.handle(arrived(3.0, 1, version=1)))) == [1]
    assert heard(machine) == [
        (False, {0: (1.0, True), 1: (1.0, False)}),
        (False, {0: (1.0, False), 1: (3.0, True)}),
    ]


def test_a_late_worker_that_finishes_is_settled_and_starts_late_on_the_open_round() -> None:
    machine = rounds(Backup(c=1), n=2, late_finish=True)
    close = closing(machine.handle(arrived(1.0, 0)))
    assert close.abandon == ()
    assert close.record.fates.tolist() == [Fate.USED, Fate.PENDING]
    assert machine.handle(Applied(1.0, 1)) == [OpenRound(1, (0,))]
    late = machine.handle(arrived(1.5, 1, run_time=1.5))
    assert late == [Settle(1, 0, Fate.LATE, 1.5), StartWork(1, 1)]
    record = closing(machine.handle(arrived(2.0, 0, version=1, run_time=1.0))).record
    assert record.roster.busy.tolist() == pytest.approx([NAN, 1.0], nan_ok=True)
    assert record.fates.tolist() == [Fate.USED, Fate.PENDING]
    assert heard(machine) == [
        (False, {0: (1.0, True)}),
        (True, {1: (1.5, True)}),
        (False, {0: (1.0, True)}),
    ]


def test_who_never_began_on_a_round_has_no_gradient_in_it() -> None:
    machine = rounds(Backup(c=1), n=2, late_finish=True)
    play(machine, arrived(1.0, 0), Applied(1.0, 1))
    record = closing(machine.handle(arrived(2.0, 0, version=1, run_time=1.0))).record
    assert record.fates.tolist() == [Fate.USED, Fate.UNSTARTED]
    assert machine.handle(Applied(2.0, 2)) == [OpenRound(2, (0,))]
    assert machine.handle(arrived(5.0, 1, run_time=5.0)) == [Settle(1, 0, Fate.LATE, 5.0), StartWork(1, 2)]


def test_late_work_that_comes_before_the_next_opening_leaves_its_worker_free() -> None:
    machine = rounds(Backup(c=1), n=2, late_finish=True)
    play(machine, arrived(1.0, 0))
    assert machine.handle(arrived(1.5, 1)) == []
    assert machine.handle(Applied(2.0, 1)) == [OpenRound(1, (0, 1)), Settle(1, 0, Fate.LATE, 1.5)]
    record = closing(machine.handle(arrived(3.0, 1, version=1))).record
    assert np.isnan(record.roster.busy).all()


def test_a_cut_worker_that_the_rule_names_finishes_and_the_others_abandon() -> None:
    rule = Says(lambda p: Close() if p.count else Wait(count=1), finish=(2, 0))
    machine = rounds(rule, n=4)
    close = closing(machine.handle(arrived(1.0, 0)))
    assert close.abandon == (1, 3)
    assert close.record.fates.tolist() == [Fate.USED, Fate.ABANDONED, Fate.PENDING, Fate.ABANDONED]
    assert heard(machine) == [(False, {0: (1.0, True), 1: (1.0, False), 3: (1.0, False)})]
    assert machine.handle(Applied(1.0, 1)) == [OpenRound(1, (0, 1, 3))]
    assert machine.handle(arrived(4.0, 2)) == [Settle(2, 0, Fate.LATE, 4.0), StartWork(2, 1)]


def test_censored_run_times_count_from_each_workers_own_start() -> None:
    rule = Says(lambda p: Close() if p.count else Wait(count=1), finish=(1,))
    machine = rounds(rule, n=3)
    play(machine, arrived(1.0, 0), Applied(1.0, 1), arrived(1.75, 1))
    close = closing(machine.handle(arrived(3.0, 0, version=1, run_time=2.0)))
    # Worker 1 began on round 1 at 1.75 and is named again, worker 2 at 1.0 and is told to stop.
    assert close.abandon == (2,)
    assert heard(machine)[1:] == [
        (True, {1: (1.75, True)}),
        (False, {0: (2.0, True), 2: (2.0, False)}),
    ]


def test_a_late_start_that_is_cut_is_censored_at_its_own_seconds() -> None:
    rule = Says(lambda p: Close() if p.count else Wait(count=1))
    machine = rounds(rule, n=2, late_finish=True)
    play(machine, arrived(1.0, 0), Applied(1.0, 1), arrived(1.75, 1))
    machine.late_finish = False
    close = closing(machine.handle(arrived(3.0, 0, version=1, run_time=2.0)))
    assert close.record.fates.tolist() == [Fate.USED, Fate.ABANDONED]
    assert heard(machine)[-1] == (False, {0: (2.0, True), 1: (1.25, False)})


def test_a_worker_that_began_at_the_very_close_teaches_nothing() -> None:
    machine = rounds(Backup(c=1), n=2, late_finish=True)
    play(machine, arrived(1.0, 0), Applied(1.0, 1), arrived(2.0, 1))
    machine.late_finish = False
    machine.handle(arrived(2.0, 0, version=1, run_time=1.0))
    assert heard(machine)[-1] == (False, {0: (1.0, True)})


# Workers that sit a round out.


def test_a_worker_that_comes_free_too_late_sits_out_and_begins_with_the_next_round() -> None:
    rule = Says(lambda p: Close() if p.count == 2 else Wait(count=2), idle=(2,))
    machine = rounds(rule, n=3, late_finish=True)
    play(machine, arrived(1.0, 0), arrived(1.0, 1), Applied(1.0, 1))
    assert machine.handle(arrived(1.5, 2)) == [Settle(2, 0, Fate.LATE, 1.5)]
    assert machine.handle(arrived(1.75, 2, version=1)) == []
    record = closing(play(machine, arrived(2.0, 0, version=1), arrived(2.0, 1, version=1))).record
    assert record.fates.tolist() == [Fate.USED, Fate.USED, Fate.UNSTARTED]
    assert machine.handle(Applied(2.0, 2)) == [OpenRound(2, (0, 1, 2))]


def test_a_round_closes_once_all_others_sit_out() -> None:
    goal = [1]
    rule = Says(lambda p: Close() if p.count >= goal[0] else Wait(count=goal[0]), idle=(1, 2))
    machine = rounds(rule, n=3, late_finish=True)
    play(machine, arrived(1.0, 0))
    goal[0] = 3
    play(machine, Applied(1.0, 1), arrived(2.0, 0, version=1))
    assert machine.handle(arrived(2.25, 1)) == [Settle(1, 0, Fate.LATE, 2.25)]
    settled, close = machine.handle(arrived(2.5, 2))
    assert settled == Settle(2, 0, Fate.LATE, 2.5)
    assert isinstance(close, CloseRound)
    assert who(close) == [0]


def test_when_nobody_came_and_the_rest_sit_out_the_same_version_is_tried_again_with_them() -> None:
    rule = Says(lambda p: Close() if p.count else Wait(count=1), idle=(1, 2))
    machine = rounds(rule, n=3, late_finish=True)
    play(machine, arrived(1.0, 0), Applied(1.0, 1), Left(1.5, 0), arrived(2.0, 1))
    assert machine.handle(arrived(2.5, 2)) == [
        Settle(2, 0, Fate.LATE, 2.5),
        Settle(0, 1, Fate.LOST, 0.5),
        OpenRound(1, (1, 2)),
    ]


def test_nobody_sits_out_where_older_work_counts() -> None:
    rule = Says(lambda p: Close() if p.count else Wait(count=1), idle=(1,))
    machine = rounds(rule, n=2, acceptance=bounded_stale(1))
    for version in range(2):
        play(machine, arrived(version + 1.0, 0, version=version), Applied(version + 1.0, version + 1))
    assert machine.handle(arrived(2.5, 1)) == [Settle(1, 0, Fate.LATE, 2.5), StartWork(1, 2)]


# Workers that leave.


def test_a_worker_that_leaves_is_lost_and_waited_for_no_longer() -> None:
    machine = rounds(Backup(c=3), n=3)
    play(machine, arrived(1.0, 0), arrived(1.25, 2))
    close = closing(machine.handle(Left(2.0, 1)))
    assert who(close) == [0, 2]
    assert close.abandon == ()
    assert close.record.fates.tolist() == [Fate.USED, Fate.LOST, Fate.USED]
    assert heard(machine) == [(False, {0: (1.0, True), 1: (2.0, False), 2: (1.25, True)})]


def test_a_rule_is_asked_again_when_a_worker_leaves() -> None:
    rule = Says(lambda p: Wait(until=9.0))
    machine = rounds(rule, n=3)
    assert machine.handle(Left(2.0, 1)) == [WakeAt(9.0)]
    assert rule.asked == [(0.0, 0), (2.0, 0)]


def test_a_gradient_stays_when_its_worker_leaves_after_it_arrived() -> None:
    machine = rounds(WaitAll(), n=2)
    assert play(machine, arrived(1.0, 0), Left(1.5, 0)) == []
    close = closing(machine.handle(arrived(2.0, 1)))
    assert who(close) == [0, 1]
    assert close.record.fates.tolist() == [Fate.USED, Fate.USED]
    assert machine.handle(Applied(2.0, 1)) == [OpenRound(1, (1,))]


def test_when_all_leave_the_same_version_waits_for_whoever_comes() -> None:
    machine = rounds(WaitAll(), n=2)
    assert machine.handle(Left(1.0, 0)) == []
    assert machine.handle(Left(1.5, 1)) == [Settle(0, 0, Fate.LOST, 1.0), Settle(1, 0, Fate.LOST, 1.5)]
    assert machine.handle(Tick(2.0)) == []
    assert machine.handle(Joined(3.0, 7)) == [OpenRound(0, (7,))]
    assert who(closing(machine.handle(arrived(4.0, 7)))) == [7]


def test_when_all_who_took_part_leave_those_who_joined_meanwhile_try_the_same_version() -> None:
    machine = rounds(WaitAll(), n=1)
    machine.handle(Joined(0.5, 8))
    assert machine.handle(Left(1.0, 0)) == [Settle(0, 0, Fate.LOST, 1.0), OpenRound(0, (8,))]


def test_when_all_others_leave_a_round_closes_with_what_is_in() -> None:
    machine = rounds(Backup(c=3), n=3)
    machine.handle(arrived(1.0, 1))
    assert machine.handle(Left(2.0, 1)) == []
    assert machine.handle(Left(2.0, 0)) == []
    assert who(closing(machine.handle(Left(2.5, 2)))) == [1]


def test_pending_work_is_lost_with_its_worker() -> None:
    machine = rounds(Backup(c=1), n=2, late_finish=True)
    machine.handle(arrived(1.0, 0))
    assert machine.handle(Left(1.5, 1)) == [Settle(1, 0, Fate.LOST, 1.5)]
    play(machine, Applied(2.0, 1), arrived(3.0, 0, version=1, run_time=1.0))
    assert heard(machine)[1] == (True, {1: (1.5, False)})


def test_pending_work_is_lost_during_a_later_round_too() -> None:
    machine = rounds(Backup(c=2), n=3, late_finish=True)
    play(machine, arrived(1.0, 0), arrived(1.0, 1), Applied(1.0, 1), arrived(2.0, 0, version=1))
    assert machine.handle(Left(2.5, 2)) == [Settle(2, 0, Fate.LOST, 2.5)]
    record = closing(machine.handle(arrived(3.0, 1, version=1))).record
    assert record.fates.tolist() == [Fate.USED, Fate.USED, Fate.UNSTARTED]


def test_late_work_is_settled_even_if_its_worker_leaves_before_the_next_opening() -> None:
    machine = rounds(Backup(c=1), n=2, late_finish=True)
    play(machine, arrived(1.0, 0), arrived(1.5, 1))
    assert machine.handle(Left(1.75, 1)) == [Settle(1, 0, Fate.LATE, 1.5)]
    assert machine.handle(Applied(2.0, 1)) == [OpenRound(1, (0,))]
    machine.handle(arrived(3.0, 0, version=1))
    assert heard(machine)[1] == (True, {1: (1.5, True)})


def test_an_older_gradient_does_not_count_for_a_worker_that_has_been_replaced() -> None:
    machine = rounds(Backup(c=1), n=2, acceptance=STALE_SYNCHRONOUS)
    play(machine, arrived(1.0, 0), arrived(1.5, 1))
    assert machine.handle(Joined(1.75, 1)) == [Settle(1, 0, Fate.LATE, 1.5)]
    assert machine.handle(Applied(2.0, 1)) == [OpenRound(1, (0, 1))]


def test_a_worker_that_rejoins_takes_part_from_the_next_opening_on() -> None:
    machine = rounds(Backup(c=2), n=3)
    play(machine, Left(0.5, 2), Joined(0.75, 2))
    assert machine.handle(arrived(0.9, 2)) == []
    close = closing(play(machine, arrived(1.0, 0), arrived(1.0, 1)))
    assert close.record.fates.tolist() == [Fate.USED, Fate.USED, Fate.LOST]
    assert machine.handle(Applied(1.0, 1)) == [OpenRound(1, (0, 1, 2))]


def test_a_worker_that_joins_again_without_having_left_has_lost_its_work() -> None:
    machine = rounds(WaitAll(), n=2)
    machine.handle(arrived(0.5, 0))
    close = closing(machine.handle(Joined(1.0, 1, node=3)))
    assert close.record.fates.tolist() == [Fate.USED, Fate.LOST]
    machine.handle(arrived(1.5, 1))
    assert machine.handle(Applied(2.0, 1)) == [OpenRound(1, (0, 1))]
    record = closing(play(machine, arrived(3.0, 0, version=1), arrived(3.0, 1, version=1))).record
    assert record.roster.nodes.tolist() == [-1, 3]


def test_the_only_worker_may_join_again_without_having_left() -> None:
    machine = rounds(WaitAll(), n=1)
    assert machine.handle(Joined(1.0, 0)) == [Settle(0, 0, Fate.LOST, 1.0), OpenRound(0, (0,))]


def test_a_worker_that_left_twice_left_once() -> None:
    machine = rounds(Backup(c=2), n=3)
    play(machine, Left(0.5, 2), Joined(0.6, 2))
    assert play(machine, Left(0.7, 2), Left(0.8, 2)) == []
    assert closing(play(machine, arrived(1.0, 0), arrived(1.0, 1))).record.roster.workers.tolist() == [
        0,
        1,
        2,
    ]


# Gradients that are not finite.


def test_a_rejected_gradient_is_not_used_but_its_run_time_is_known() -> None:
    rule = Says(lambda _: Wait(count=2))
    machine = rounds(rule, n=3)
    machine.handle(arrived(1.0, 1, finite=False))
    assert rule.asked == [(0.0, 0), (1.0, 0)]
    machine.handle(arrived(2.0, 0))
    close = closing(machine.handle(arrived(3.0, 2)))
    assert who(close) == [0, 2]
    assert close.record.fates.tolist() == [Fate.USED, Fate.REJECTED, Fate.USED]
    assert close.record.arrivals.tolist() == [2.0, 1.0, 3.0]
    assert heard(machine) == [(False, {0: (2.0, True), 1: (1.0, True), 2: (3.0, True)})]


def test_a_rejected_gradient_lowers_what_is_waited_for() -> None:
    machine = rounds(Backup(c=3), n=3)
    play(machine, arrived(1.0, 0), arrived(1.0, 1, finite=False))
    assert who(closing(machine.handle(arrived(2.0, 2)))) == [0, 2]


def test_when_all_are_rejected_the_same_version_is_tried_again() -> None:
    machine = rounds(WaitAll(), n=2)
    assert machine.handle(arrived(1.0, 0, finite=False)) == []
    assert machine.handle(arrived(2.0, 1, finite=False)) == [
        Settle(0, 0, Fate.REJECTED, 1.0),
        Settle(1, 0, Fate.REJECTED, 2.0),
        OpenRound(0, (0, 1)),
    ]
    close = closing(play(machine, arrived(3.0, 0, run_time=1.0), arrived(3.5, 1, run_time=1.5)))
    assert (close.version, close.record.opened, who(close)) == (0, 2.0, [0, 1])


def test_when_the_rest_leave_after_a_rejection_the_same_version_is_tried_again() -> None:
    machine = rounds(WaitAll(), n=2)
    machine.handle(arrived(1.0, 0, finite=False))
    assert machine.handle(Left(2.0, 1)) == [
        Settle(0, 0, Fate.REJECTED, 1.0),
        Settle(1, 0, Fate.LOST, 2.0),
        OpenRound(0, (0,)),
    ]


# Messages that make no sense.


def test_a_worker_counts_once_however_often_it_says_so() -> None:
    machine = rounds(Backup(c=2), n=3)
    assert play(machine, arrived(1.0, 0), arrived(1.0, 0), arrived(1.5, 0, run_time=0.1)) == []
    close = closing(machine.handle(arrived(2.0, 1)))
    assert who(close) == [0, 1]
    assert heard(machine)[0][1][0] == (1.0, True)


def test_workers_and_versions_nobody_knows_change_nothing() -> None:
    machine = rounds(Backup(c=1), n=2)
    assert (
        play(machine, arrived(0.5, 7), Left(0.5, 7), arrived(0.5, 0, version=3), arrived(0.5, 0, version=-1))
        == []
    )
    assert who(closing(machine.handle(arrived(1.0, 1)))) == [1]


def test_nothing_happens_before_the_run_begins() -> None:
    machine = Rounds(Policy(NoForecast(), WaitAll()))
    assert (
        play(machine, Tick(0.0), arrived(0.0, 0), Left(0.0, 0), Joined(0.0, 0), arrived(1.0, 0), Tick(2.0))
        == []
    )


@pytest.mark.parametrize("late", [Tick(1.0), arrived(1.0, 1), Left(1.0, 0), Joined(1.0, 9), Applied(1.0, 1)])
def test_events_out_of_the_order_of_time_are_refused_with_a_sentence(late: Event) -> None:
    machine = rounds(WaitAll(), n=2)
    machine.handle(arrived(2.0, 0))
    with pytest.raises(
        ValueError, match=r"order of time: got .* at 1\.0 after 2\.0\. Deliver the older event first\."
    ):
        machine.handle(late)
    assert machine.now == 2.0
    assert who(closing(machine.handle(arrived(2.0, 1)))) == [0, 1]


def test_a_time_that_is_no_number_is_refused() -> None:
    machine = rounds(WaitAll(), n=2)
    with pytest.raises(ValueError, match=r"at nan after 0\.0"):
        machine.handle(Tick(NAN))
    assert machine.now == 0.0


@pytest.mark.parametrize("run_time", [0.0, -1.0, INF, NAN])
@pytest.mark.parametrize("late_finish", [False, True])
def test_a_run_time_that_makes_no_sense_teaches_nothing(run_time: float, late_finish: bool) -> None:
    machine = rounds(Backup(c=1), n=3, late_finish=late_finish)
    assert who(closing(machine.handle(arrived(1.0, 0, run_time=run_time)))) == [0]
    play(machine, Applied(2.0, 1), arrived(2.5, 1, run_time=run_time), arrived(3.0, 0, version=1))
    assert not any(0 in seen or (1 in seen and late) for late, seen in heard(machine)[:-1])
    assert all(seconds > 0 for _, seen in heard(machine) for seconds, _ in seen.values())


# Gradients of older versions, and more than one of a worker.


def test_an_older_gradient_counts_where_it_is_admitted_and_says_how_old_it_is() -> None:
    machine = rounds(Backup(c=2), n=3, acceptance=STALE_SYNCHRONOUS)
    close = closing(play(machine, arrived(1.0, 0), arrived(1.0, 1)))
    assert close.abandon == ()
    assert close.record.fates.tolist() == [Fate.USED, Fate.USED, Fate.PENDING]
    assert machine.handle(Applied(1.0, 1)) == [OpenRound(1, (0, 1))]
    assert machine.handle(arrived(1.5, 2)) == [Settle(2, 0, Fate.USED, 1.5)]
    close = closing(machine.handle(arrived(2.0, 0, version=1, run_time=1.0)))
    assert close.accepted == (Accepted(2, 0, 1.0), Accepted(0, 1, 1.0))
    assert close.record.staleness.tolist() == [1, 0]
    assert close.record.accepted.tolist() == [1, 0, 1]
    # Its fate in this round is that of a gradient it never began.
    assert close.record.fates.tolist() == [Fate.USED, Fate.PENDING, Fate.UNSTARTED]
    assert heard(machine)[1:] == [(True, {2: (1.5, True)}), (False, {0: (1.0, True)})]
    assert machine.handle(Applied(2.0, 2)) == [OpenRound(2, (0, 2))]


def test_an_older_gradient_that_is_not_finite_is_rejected_as_what_it_is() -> None:
    machine = rounds(Backup(c=1), n=2, acceptance=STALE_SYNCHRONOUS)
    play(machine, arrived(1.0, 0), Applied(1.0, 1))
    assert machine.handle(arrived(1.5, 1, finite=False)) == [Settle(1, 0, Fate.REJECTED, 1.5)]
    close = closing(machine.handle(arrived(2.0, 0, version=1)))
    assert who(close) == [0]
    assert close.record.fates.tolist() == [Fate.USED, Fate.UNSTARTED]


def test_older_gradients_do_not_make_a_worker_count_twice() -> None:
    machine = rounds(Backup(c=2), n=3, acceptance=STALE_SYNCHRONOUS)
    play(machine, arrived(1.0, 0), arrived(1.0, 1), Applied(1.0, 1), arrived(1.5, 2))
    assert play(machine, arrived(1.6, 2), arrived(1.6, 2, version=1)) == []
    assert who(closing(machine.handle(arrived(2.0, 0, version=1)))) == [2, 0]


def test_a_gradient_older_than_the_bound_is_late_and_its_worker_starts_anew() -> None:
    machine = rounds(Backup(c=1), n=2, acceptance=bounded_stale(1))
    for version in range(2):
        play(machine, arrived(version + 1.0, 0, version=version), Applied(version + 1.0, version + 1))
    assert machine.handle(arrived(2.5, 1)) == [Settle(1, 0, Fate.LATE, 2.5), StartWork(1, 2)]
    assert closing(machine.handle(arrived(3.0, 1, version=2))).record.staleness.tolist() == [0]


def test_a_gradient_within_the_bound_counts() -> None:
    machine = rounds(Backup(c=1), n=2, acceptance=bounded_stale(1))
    play(machine, arrived(1.0, 0), Applied(1.0, 1))
    assert closing(machine.handle(arrived(2.5, 1))).record.staleness.tolist() == [1]


def test_with_refilling_a_worker_goes_on_at_once_and_may_count_more_than_once() -> None:
    machine = rounds(Backup(c=3), n=3, acceptance=BATCH_SYNCHRONOUS)
    assert machine.handle(arrived(1.0, 0)) == [StartWork(0, 0)]
    assert machine.handle(arrived(1.5, 0, run_time=0.5)) == [StartWork(0, 0)]
    [close] = machine.handle(arrived(2.0, 1))
    assert isinstance(close, CloseRound)
    assert who(close) == [0, 0, 1]
    assert close.record.accepted.tolist() == [2, 1, 0]
    assert close.record.staleness.tolist() == [0, 0, 0]
    # Worker 1 closed the round: it starts on the new parameters, not once more on the old ones.
    assert close.abandon == (0, 2)
    assert machine.handle(Applied(2.0, 1)) == [OpenRound(1, (0, 1, 2))]


def test_with_refilling_older_work_counts_only_where_it_is_admitted() -> None:
    machine = rounds(Backup(c=1), n=2, acceptance=BATCH_SYNCHRONOUS)
    play(machine, arrived(1.0, 0), Applied(1.0, 1))
    assert machine.handle(arrived(1.5, 1)) == []
    machine = rounds(Backup(c=1), n=2, acceptance=ASYNCHRONOUS)
    play(machine, arrived(1.0, 0), Applied(1.0, 1))
    settled, close = machine.handle(arrived(1.5, 1))
    assert settled == Settle(1, 0, Fate.USED, 1.5)
    assert isinstance(close, CloseRound)
    assert close.accepted == (Accepted(1, 0, 1.0),)


def test_asynchronously_each_worker_starts_on_the_parameters_its_own_gradient_made() -> None:
    machine = rounds(Backup(c=1), n=2, acceptance=ASYNCHRONOUS)
    staleness = []
    for step in range(1, 7):
        worker = step % 2
        version = max(step - 2, 0)
        close = closing(machine.handle(arrived(float(step), worker, version=version)))
        staleness.append(int(close.record.staleness[0]))
        assert machine.handle(Applied(float(step), step)) == [OpenRound(step, (worker,))]
    assert staleness == [0, 1, 1, 1, 1, 1]


def test_who_arrived_between_close_and_opening_is_in_the_next_round_from_its_start() -> None:
    machine = rounds(Backup(c=2), n=3, acceptance=STALE_SYNCHRONOUS)
    play(machine, arrived(1.0, 0), arrived(1.0, 1), arrived(1.5, 2))
    assert machine.handle(Applied(2.0, 1)) == [OpenRound(1, (0, 1)), Settle(2, 0, Fate.USED, 1.5)]
    record = closing(machine.handle(arrived(3.0, 0, version=1))).record
    assert record.arrivals.tolist() == [1.0, INF, 0.0]


def test_a_round_may_close_as_it_opens() -> None:
    machine = rounds(Backup(c=1), n=2, acceptance=ASYNCHRONOUS)
    play(machine, arrived(1.0, 0), arrived(1.5, 1))
    opened, settled, close = machine.handle(Applied(2.0, 1))
    assert opened == OpenRound(1, (0, 1))
    assert settled == Settle(1, 0, Fate.USED, 1.5)
    assert isinstance(close, CloseRound)
    assert close.record.elapsed == 0.0
    assert heard(machine)[-1] == (True, {1: (1.5, True)})


def test_shares_of_several_gradients_are_averaged() -> None:
    machine = rounds(Backup(c=2), n=2, acceptance=BATCH_SYNCHRONOUS)
    machine.handle(arrived(1.0, 0, share=0.25))
    record = closing(machine.handle(arrived(2.0, 0, share=1.0))).record
    assert record.accepted.tolist() == [2, 0]
    assert record.shares.tolist() == [0.625, 1.0]
    assert record.value == 1.25


def test_a_rule_may_welcome_the_older_gradient_of_one_worker() -> None:
    rule = Says(lambda p: Close() if p.count == 2 else Wait(count=2), finish=(2, 3), welcome=(2,))
    machine = rounds(rule, n=4)
    play(machine, arrived(1.0, 0), arrived(1.0, 1), Applied(1.0, 1))
    assert machine.handle(arrived(1.5, 3)) == [Settle(3, 0, Fate.LATE, 1.5), StartWork(3, 1)]
    assert machine.handle(arrived(2.0, 2)) == [Settle(2, 0, Fate.USED, 2.0)]
    close = closing(machine.handle(arrived(3.0, 0, version=1)))
    assert close.accepted == (Accepted(2, 0, 1.0), Accepted(0, 1, 1.0))
    assert close.record.staleness.tolist() == [1, 0]


# What else a round is told and tells.


def test_the_workers_deadline_goes_with_every_start() -> None:
    rule = Says(lambda p: Close() if p.count else Wait(count=1), deadline=0.75)
    machine = rounds(rule, n=2, late_finish=True)
    play(machine, arrived(0.5, 0))
    assert machine.handle(Applied(1.0, 1)) == [OpenRound(1, (0,), 0.75)]
    assert machine.handle(arrived(1.25, 1, share=0.5)) == [
        Settle(1, 0, Fate.LATE, 1.25),
        StartWork(1, 1, 0.75),
    ]


def test_a_part_of_a_mini_batch_counts_as_part_and_censors_its_run_time() -> None:
    machine = rounds(WaitAll(), n=2)
    close = closing(play(machine, arrived(1.0, 0, share=0.375), arrived(2.0, 1)))
    assert close.accepted == (Accepted(0, 0, 0.375), Accepted(1, 0, 1.0))
    assert close.record.shares.tolist() == [0.375, 1.0]
    assert (close.record.count, close.record.value) == (2, 1.375)
    assert heard(machine) == [(False, {0: (1.0, False), 1: (2.0, True)})]


def test_a_part_of_a_mini_batch_that_comes_late_censors_its_run_time() -> None:
    machine = rounds(Backup(c=1), n=2, late_finish=True)
    play(machine, arrived(1.0, 0), Applied(1.0, 1), arrived(1.5, 1, share=0.5), arrived(2.0, 0, version=1))
    assert heard(machine)[1] == (True, {1: (1.5, False)})


def test_several_late_reports_of_one_worker_come_one_by_one() -> None:
    machine = rounds(Says(lambda p: Close() if p.count == 2 else Wait(count=2)), n=3, late_finish=True)
    play(machine, arrived(1.0, 0), arrived(1.0, 1), arrived(1.5, 2), Left(1.5, 2), Joined(1.5, 2))
    play(
        machine,
        Applied(2.0, 1),
        Left(3.0, 2),
        Joined(3.0, 2),
        arrived(4.0, 0, version=1),
        arrived(4.0, 1, version=1),
    )
    play(machine, Applied(4.0, 2), arrived(5.0, 0, version=2), arrived(5.0, 1, version=2), Left(6.0, 2))
    assert heard(machine) == [
        (False, {0: (1.0, True), 1: (1.0, True)}),
        (True, {2: (1.5, True)}),
        (False, {0: (4.0, True), 1: (4.0, True), 2: (1.0, False)}),
        (False, {0: (5.0, True), 1: (5.0, True)}),
    ]


def test_a_late_report_and_a_loss_of_one_worker_within_a_round_are_two_records() -> None:
    machine = rounds(Backup(c=1), n=2, late_finish=True)
    play(machine, arrived(1.0, 0), arrived(1.5, 1), Left(1.6, 1), Joined(1.7, 1), Applied(2.0, 1))
    play(machine, Left(2.5, 1), Joined(2.5, 1), arrived(3.0, 0, version=1), Applied(3.0, 2))
    assert [seen for _, seen in heard(machine)] == [
        {0: (1.0, True)},
        {1: (1.5, True)},
        {0: (3.0, True), 1: (0.5, False)},
    ]


def test_the_overhead_is_measured_from_close_to_parameters() -> None:
    rule = Says(lambda p: Close() if p.count else Wait(count=1))
    machine = rounds(rule, n=1, overhead=0.5)
    guess = 0.5
    now = 0.0
    for version, gap in enumerate([0.5, 1.0, 3.0], start=1):
        record = closing(machine.handle(arrived(now + 1.0, 0, version=version - 1))).record
        assert record.overhead == guess
        now += 1.0 + gap
        machine.handle(Applied(now, version))
        guess += (gap - guess) / MEASURED_OVER
        assert rule.openings[-1].overhead == guess
    assert machine.overhead == guess


def test_waiting_for_workers_is_no_overhead() -> None:
    machine = rounds(WaitAll(), n=1, overhead=0.25)
    play(machine, arrived(1.0, 0), Left(1.0, 0), Applied(1.25, 1), Joined(9.0, 0))
    assert machine.overhead == 0.25


def test_a_rule_knows_whether_late_workers_finish() -> None:
    for late_finish in (False, True):
        rule = Says(lambda _: Wait())
        rounds(rule, late_finish=late_finish)
        assert rule.openings[0].late_finish is late_finish


def test_every_gradient_of_a_troubled_run_has_exactly_one_fate() -> None:
    machine = rounds(Backup(c=2), n=5, late_finish=True)
    commands = play(
        machine,
        arrived(1.0, 0, finite=False),
        arrived(1.0, 1),
        Left(1.5, 2),
        arrived(2.0, 3),
        Applied(2.0, 1),
        Left(2.5, 4),
        arrived(3.0, 0, version=1),
        arrived(3.0, 3, version=1),
        arrived(3.5, 1, version=1),
        Applied(4.0, 2),
        arrived(5.0, 1, version=2),
        arrived(5.0, 0, version=2),
    )
    fates: dict[tuple[int, int], list[Fate]] = {}
    for command in commands:
        if isinstance(command, Settle):
            fates.setdefault((command.worker, command.version), []).append(command.fate)
        if isinstance(command, CloseRound):
            for worker, fate in zip(
                command.record.roster.workers.tolist(), command.record.fates, strict=True
            ):
                if fate not in (Fate.PENDING, Fate.UNSTARTED):
                    fates.setdefault((worker, command.version), []).append(Fate(fate))
    assert fates == {
        (0, 0): [Fate.REJECTED],
        (1, 0): [Fate.USED],
        (2, 0): [Fate.LOST],
        (3, 0): [Fate.USED],
        (4, 0): [Fate.LOST],
        (0, 1): [Fate.USED],
        (1, 1): [Fate.LATE],
        (3, 1): [Fate.USED],
        (0, 2): [Fate.USED],
        (1, 2): [Fate.USED],
    }


# Snapshots.


def live(machine: Rounds, version: int, now: float, seconds: list[float]) -> tuple[float, list[Command]]:
    """Let one round happen with those run times; the time of its close, and what the machine said."""
    said = machine.handle(Applied(now, version))
    wakes = [command.now for command in said if isinstance(command, WakeAt)]
    due = sorted((now + s, worker, s) for worker, s in enumerate(seconds))
    while not any(isinstance(command, CloseRound) for command in said):
        at, worker, run_time = due[0]
        if wakes and wakes[-1] < at:
            event: Event = Tick(wakes.pop())
        else:
            event = Arrived(at, worker, version, run_time)
            due.pop(0)
        more = machine.handle(event)
        wakes += [command.now for command in more if isinstance(command, WakeAt)]
        said += more
    return machine.now, said


def decisions(said: list[Command]) -> tuple[list[int], float, list[float]]:
    close = closing(said)
    return who(close), close.record.elapsed, [command.now for command in said if isinstance(command, WakeAt)]


def test_a_fresh_machine_with_the_state_of_another_decides_alike() -> None:
    policy = Policy(Trend(), WarmUp(Stopping()))
    times = np.random.default_rng(5).lognormal(0.0, 0.5, (60, 6)).tolist()
    first = Rounds(policy)
    for worker in range(6):
        first.handle(Joined(0.0, worker))
    now = 0.0
    for version in range(30):
        now, _ = live(first, version, now, times[version])
    snapshot = first.state
    second = Rounds(policy, overhead=first.overhead)
    second.state = snapshot
    for worker in range(6):
        second.handle(Joined(now, worker))
    other = now
    different = 0
    for version in range(30, 60):
        now, said = live(first, version, now, times[version])
        other, said_too = live(second, version, other, times[version])
        assert decisions(said) == decisions(said_too)
        different += len(decisions(said)[0]) < 6
    assert different > 0, "the policy must have something to decide"
    assert first.state is not snapshot


def test_a_snapshot_is_not_changed_by_what_happens_later() -> None:
    policy = Policy(Trend(), WarmUp(Stopping()))
    times = np.random.default_rng(6).lognormal(0.0, 0.5, (12, 4)).tolist()

    def replayed(state: Any) -> list[Any]:
        machine = Rounds(policy)
        if state is not None:
            machine.state = state
        for worker in range(4):
            machine.handle(Joined(0.0, worker))
        now, out = 0.0, []
        for version in range(12):
            now, said = live(machine, version, now, times[version])
            out.append(decisions(said))
        states.append(machine.state)
        return out

    states: list[Any] = []
    replayed(None)
    snapshot = states[0]
    assert replayed(snapshot) == replayed(snapshot)
