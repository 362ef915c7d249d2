"""Gradients of older versions, and more than one of a worker."""

from __future__ import annotations

from round_scripts import INF, Says, arrived, closing, heard, play, rounds, who

from tailcut.acceptance import (
    ASYNCHRONOUS,
    BATCH_SYNCHRONOUS,
    STALE_SYNCHRONOUS,
    bounded_stale,
)
from tailcut.events import (
    Accepted,
    Applied,
    CloseRound,
    OpenRound,
    Settle,
    StartWork,
)
from tailcut.rules import Backup
from tailcut.types import (
    Close,
    Fate,
    Wait,
)


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
    opened, settled, close = play(machine, Applied(2.0, 1))
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
