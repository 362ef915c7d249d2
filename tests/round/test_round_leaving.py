"""Workers that leave, and that come back."""

from __future__ import annotations

from round_scripts import Says, arrived, closing, heard, play, rounds, who

from tailcut.acceptance import (
    STALE_SYNCHRONOUS,
)
from tailcut.events import (
    Applied,
    Joined,
    Left,
    OpenRound,
    Settle,
    Tick,
    WakeAt,
)
from tailcut.rules import Backup, WaitAll
from tailcut.types import (
    Fate,
    Wait,
)


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
