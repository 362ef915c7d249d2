"""Gradients that are not finite, and messages that make no sense."""

from __future__ import annotations

import pytest
from round_scripts import INF, NAN, Says, arrived, closing, heard, play, rounds, who

from tailcut.events import (
    Applied,
    Event,
    Joined,
    Left,
    OpenRound,
    Settle,
    Tick,
)
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import Backup, WaitAll
from tailcut.types import (
    Fate,
    Wait,
)

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
