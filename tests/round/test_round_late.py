"""Work that a close cut off, and workers that sit a round out."""

from __future__ import annotations

import numpy as np
import pytest
from round_scripts import NAN, Says, arrived, closing, heard, play, rounds, who

from tailcut.acceptance import (
    bounded_stale,
)
from tailcut.events import (
    Applied,
    CloseRound,
    Left,
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
