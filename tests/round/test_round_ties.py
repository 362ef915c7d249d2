"""Workers that arrive at one and the same instant."""

from __future__ import annotations

import pytest
from round_scripts import Says, arrived, closing, play, rounds, who

from tailcut.acceptance import ASYNCHRONOUS, BATCH_SYNCHRONOUS, STALE_SYNCHRONOUS
from tailcut.events import Applied, Arrivals, Arrived, OpenRound, Settle, StartWork, Tick, merge_arrivals
from tailcut.rules import Backup, Deadline, Floor, WaitAll
from tailcut.types import Close, Fate, Wait


def together(now: float, *workers: int, version: int = 0) -> Arrivals:
    return Arrivals(tuple(arrived(now, worker, version) for worker in workers))


def test_a_round_that_closes_at_an_instant_takes_all_who_arrive_there() -> None:
    machine = rounds(Backup(c=2), n=6)
    machine.handle(arrived(1.0, 5))
    close = closing(machine.handle(together(2.0, 4, 0, 2)))
    assert who(close) == [5, 0, 2, 4]
    assert close.abandon == (1, 3)
    assert (close.record.elapsed, close.record.count) == (2.0, 4)
    assert close.record.staleness.tolist() == [0, 0, 0, 0]


def test_the_rule_is_asked_once_when_all_of_an_instant_are_counted() -> None:
    rule = Says(lambda p: Close() if p.count >= 5 else Wait(count=p.count + 1))
    machine = rounds(rule, n=7)
    machine.handle(together(1.0, 3, 1, 2))
    machine.handle(arrived(2.0, 0))
    assert who(closing(machine.handle(together(3.0, 5, 4)))) == [1, 2, 3, 0, 4, 5]
    assert rule.asked == [(0.0, 0), (1.0, 3), (2.0, 4), (3.0, 6)]


def test_a_floor_and_a_deadline_take_all_of_the_instant_that_closes_them() -> None:
    machine = rounds(Floor(Deadline(seconds=1.0), 2), n=5)
    machine.handle(Tick(1.0))
    assert who(closing(machine.handle(together(1.5, 4, 2, 3)))) == [2, 3, 4]
    machine = rounds(Deadline(seconds=1.0), n=4)
    assert machine.handle(together(1.0, 3, 0)) == [], "the wake-up decides"
    assert who(closing(machine.handle(Tick(1.0)))) == [0, 3]


def test_gradients_that_cannot_be_used_are_counted_out_together() -> None:
    machine = rounds(WaitAll(), n=3)
    events = (arrived(1.0, 0, finite=False), arrived(1.0, 2, finite=False), arrived(1.0, 1))
    close = closing(machine.handle(Arrivals(events)))
    assert who(close) == [1]
    assert close.record.fates.tolist() == [Fate.REJECTED, Fate.USED, Fate.REJECTED]


def test_late_workers_that_come_free_as_the_round_closes_wait_for_the_next_opening() -> None:
    machine = rounds(Backup(c=2), n=4, late_finish=True)
    play(machine, together(1.0, 0, 1), Applied(1.0, 1))
    tied = Arrivals(
        (arrived(3.0, 2), arrived(3.0, 1, version=1), arrived(3.0, 0, version=1), arrived(3.0, 3))
    )
    first, second, close = machine.handle(tied)
    assert [first, second] == [Settle(2, 0, Fate.LATE, 3.0), Settle(3, 0, Fate.LATE, 3.0)]
    assert who(closing([close])) == [0, 1]
    assert machine.handle(Applied(3.0, 2)) == [OpenRound(2, (0, 1, 2, 3))]


def test_late_workers_that_come_free_in_mid_round_begin_together_or_sit_out() -> None:
    machine = rounds(Backup(c=2), n=5, late_finish=True)
    play(machine, together(1.0, 0, 1), Applied(1.0, 1))
    assert machine.handle(together(1.5, 3, 2))[2:] == [StartWork(2, 1), StartWork(3, 1)]
    rule = Says(lambda p: Close() if p.count >= 2 else Wait(count=2), idle=(2, 4))
    machine = rounds(rule, n=5, late_finish=True)
    play(machine, together(1.0, 0, 1), Applied(1.0, 1))
    rule.asked.clear()
    assert machine.handle(together(1.5, 4, 3, 2))[3:] == [StartWork(3, 1)]
    assert rule.asked == [(0.5, 0)], "asked once, when both sit out"


def test_a_round_of_older_gradients_takes_all_of_an_instant() -> None:
    machine = rounds(Backup(c=1), n=4, acceptance=STALE_SYNCHRONOUS)
    play(machine, arrived(1.0, 0), Applied(1.0, 1))
    close = closing(machine.handle(together(1.5, 2, 1)))
    assert who(close) == [1, 2]
    assert close.record.staleness.tolist() == [1, 1]


def test_a_round_of_mini_batches_takes_all_of_an_instant_where_older_ones_are_worthless() -> None:
    machine = rounds(Backup(c=2), n=3, acceptance=BATCH_SYNCHRONOUS)
    assert machine.handle(arrived(1.0, 0)) == [StartWork(0, 0)]
    assert who(closing(machine.handle(together(2.0, 2, 0, 1)))) == [0, 0, 1, 2]


def test_asynchronously_arrivals_of_one_instant_count_one_by_one_in_the_order_given() -> None:
    machine = rounds(Backup(c=2), n=4, acceptance=ASYNCHRONOUS)
    commands = machine.handle(together(1.0, 3, 1, 2))
    assert who(closing(commands)) == [3, 1]
    # Worker 3 went on before the round closed; worker 2 is in the next one from its start.
    assert [command for command in commands if isinstance(command, StartWork)] == [StartWork(3, 0)]
    assert Settle(2, 0, Fate.USED, 1.0) in machine.handle(Applied(1.0, 1))


def test_arrivals_between_a_close_and_an_opening_wait_for_it_together() -> None:
    machine = rounds(Backup(c=1), n=3, late_finish=True)
    play(machine, arrived(1.0, 0))
    assert machine.handle(together(1.5, 2, 1)) == []
    late = [Settle(1, 0, Fate.LATE, 1.5), Settle(2, 0, Fate.LATE, 1.5)]
    assert machine.handle(Applied(2.0, 1)) == [OpenRound(1, (0, 1, 2)), *late]


def test_who_is_not_known_of_changes_nothing_for_the_others() -> None:
    machine = rounds(Backup(c=2), n=3)
    assert machine.handle(together(1.0, 8, 9)) == []
    assert who(closing(machine.handle(together(1.0, 9, 1, 1, 2)))) == [1, 2]


def test_one_arrival_is_an_event_by_itself() -> None:
    one = arrived(1.0, 0)
    assert merge_arrivals([one]) is one
    assert merge_arrivals([one, arrived(1.0, 1)]) == together(1.0, 0, 1)


@pytest.mark.parametrize("arrivals", [(), (Arrived(1.0, 0, 0, 1.0), Arrived(1.5, 1, 0, 1.0))])
def test_arrivals_of_several_instants_are_refused(arrivals: tuple[Arrived, ...]) -> None:
    with pytest.raises(ValueError, match="must be of one instant"):
        Arrivals(arrivals)
