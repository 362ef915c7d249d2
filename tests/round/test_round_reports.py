"""Further inputs and outputs of a round: deadlines, partial mini-batches, late reports."""

from __future__ import annotations

from round_scripts import Says, arrived, closing, heard, play, rounds

from tailcut.events import (
    Accepted,
    Applied,
    CloseRound,
    Joined,
    Left,
    OpenRound,
    Settle,
    StartWork,
)
from tailcut.rules import Backup, WaitAll
from tailcut.types import (
    Close,
    Fate,
    Wait,
)
from tailcut.versions import MEASURED_OVER


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
