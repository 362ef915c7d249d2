"""The close of a round, and its record."""

from __future__ import annotations

from round_scripts import INF, Says, arrived, closing, play, rounds, who

from tailcut.events import (
    Accepted,
    Applied,
    CloseRound,
    Joined,
    OpenRound,
    Tick,
    WakeAt,
)
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import Backup, Deadline, WaitAll
from tailcut.types import (
    Close,
    Fate,
    Wait,
)


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
    assert machine.handle(Applied(10.0, 0)) == [OpenRound(0, (0, 1))]
    assert machine.think() == [WakeAt(11.5)]
    assert play(machine, arrived(11.0, 1), Tick(11.25)) == []
    close = closing(machine.handle(Tick(11.5)))
    assert who(close) == [1]
    assert close.record.elapsed == 1.5


def test_a_tick_of_an_earlier_round_changes_nothing() -> None:
    machine = rounds(Deadline(seconds=3.0), n=2)
    play(machine, arrived(1.0, 0), arrived(1.0, 1))
    assert machine.handle(Tick(2.0)) == []
    assert play(machine, Applied(2.0, 1)) == [OpenRound(1, (0, 1)), WakeAt(5.0)]
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
    [_, wake] = play(machine, Applied(1.7e9, 0))
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
