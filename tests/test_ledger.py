"""The books of one open round."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tailcut.events import Accepted, Arrived
from tailcut.ledger import OpenLedger, is_run_time
from tailcut.types import Fate, Roster

INF = math.inf
OPENED = 10.0


def ledger(*workers: int, counts_workers: bool = True, begun: bool = True) -> OpenLedger:
    """Return a round of version 4 that opened at 10 s; all workers have begun on it by default."""
    ids = np.array(workers, dtype=np.int64)
    roster = Roster(ids, ids % 2, np.full(len(ids), np.nan))
    books = OpenLedger(4, OPENED, roster, counts_workers)
    for worker in workers if begun else ():
        books.started((worker,), OPENED)
    return books


def arrived(after: float, worker: int, version: int = 4, share: float = 1.0, finite: bool = True) -> Arrived:
    return Arrived(OPENED + after, worker, version, after, share, finite)


def test_a_round_is_complete_once_nobody_can_still_come() -> None:
    books = ledger(3, 5, 8)
    assert not books.complete
    books.take(arrived(1.0, 5), 0)
    books.lose(3, 11.5, since=OPENED)
    assert not books.complete
    books.take(arrived(2.0, 8), 0)
    assert books.complete
    assert not books.empty


def test_a_round_is_empty_when_nobody_came_and_nobody_can() -> None:
    books = ledger(3, 5)
    books.lose(3, 11.0, since=OPENED)
    assert not books.empty
    books.take(arrived(2.0, 5, finite=False), 0)
    assert books.empty
    assert not books.complete


def test_a_worker_that_leaves_twice_or_after_its_arrival_is_taken_off_once() -> None:
    books = ledger(3, 5, 8)
    books.take(arrived(1.0, 3), 0)
    for _ in range(2):
        books.lose(3, 11.0, since=None)
        books.lose(5, 11.0, since=OPENED)
    assert not books.complete
    books.take(arrived(2.0, 8), 0)
    assert books.complete


def test_where_workers_may_come_again_only_leaving_makes_a_round_complete() -> None:
    books = ledger(3, 5, counts_workers=False)
    books.take(arrived(1.0, 3), 0)
    books.take(arrived(1.0, 5), 0)
    books.take(arrived(2.0, 3), 0)
    assert not books.complete
    books.lose(3, 13.0, since=12.0)
    assert not books.complete
    books.lose(5, 13.0, since=11.0)
    assert books.complete
    assert books.record(13.0, 0.0, set()).accepted.tolist() == [2, 1]


def test_who_is_in_has_arrived_or_is_no_part_of_the_round() -> None:
    books = ledger(3, 5)
    books.take(arrived(1.0, 3, finite=False), 0)
    assert books.is_in(3)
    assert not books.is_in(5)
    assert books.is_in(99)


def test_an_arrival_adds_up() -> None:
    books = ledger(3, 5, 8)
    books.take(arrived(1.0, 5, share=0.5), 0)
    books.take(arrived(1.5, 3, version=2), 2)
    assert books.count == 2
    assert books.accepted == [Accepted(5, 4, 0.5), Accepted(3, 2, 1.0)]
    progress = books.progress(1.75)
    assert (progress.elapsed, progress.count) == (1.75, 2)
    assert progress.arrivals.tolist() == [1.5, 1.0, INF]
    assert progress.gone.tolist() == [False, False, False]
    record = books.record(12.0, 0.25, set())
    assert record.staleness.tolist() == [0, 2]
    assert record.shares.tolist() == [1.0, 0.5, 1.0]
    assert (record.elapsed, record.overhead, record.count, record.value) == (2.0, 0.25, 2, 1.5)


def test_the_first_of_several_arrivals_is_the_arrival() -> None:
    books = ledger(3, counts_workers=False)
    books.take(arrived(1.0, 3), 0)
    books.take(arrived(2.5, 3), 0)
    assert books.record(13.0, 0.0, set()).arrivals.tolist() == [1.0]


def test_an_arrival_before_the_opening_is_in_at_zero() -> None:
    books = ledger(3, begun=False)
    books.take(arrived(-1.5, 3, version=3), 1)
    assert books.record(10.0, 0.0, set()).arrivals.tolist() == [0.0]


def test_the_record_tells_every_fate() -> None:
    books = ledger(0, 1, 2, 3, 4, begun=False)
    for worker in (0, 1, 2, 3):
        books.started((worker,), OPENED + worker / 4)
    books.take(arrived(2.0, 0), 0)
    books.take(arrived(2.5, 1, finite=False), 0)
    books.lose(2, 13.0, since=OPENED + 0.5)
    record = books.record(14.0, 0.0, set())
    fates = [Fate.USED, Fate.REJECTED, Fate.LOST, Fate.ABANDONED, Fate.UNSTARTED]
    assert record.fates.tolist() == fates
    known = record.run_times
    assert known.workers.tolist() == [0, 1, 2, 3]
    assert known.seconds.tolist() == [2.0, 2.5, 2.5, 3.25]
    assert known.observed.tolist() == [True, True, False, False]
    assert known.nodes.tolist() == [0, 1, 0, 1]
    assert not known.late


def test_pending_workers_are_neither_cut_nor_known() -> None:
    books = ledger(0, 1, 2)
    books.take(arrived(1.0, 1), 0)
    record = books.record(12.0, 0.0, pending={2, 99})
    assert record.fates.tolist() == [Fate.ABANDONED, Fate.USED, Fate.PENDING]
    assert record.run_times.workers.tolist() == [0, 1]


def test_a_record_does_not_follow_what_comes_later() -> None:
    books = ledger(0, 1)
    books.take(arrived(1.0, 1), 0)
    record = books.record(11.0, 0.0, set())
    books.take(arrived(3.0, 0), 0)
    assert record.accepted.tolist() == [0, 1]
    assert record.arrivals.tolist() == [INF, 1.0]
    assert record.fates.tolist() == [Fate.ABANDONED, Fate.USED]
    assert record.shares.tolist() == [1.0, 1.0]


def test_a_gradient_stays_used_when_its_worker_leaves_while_at_work_on_another() -> None:
    books = ledger(0, 1, counts_workers=False)
    books.take(arrived(1.0, 0), 0)
    books.started((0,), 11.0)
    books.lose(0, 12.0, since=11.0)
    record = books.record(12.5, 0.0, set())
    assert record.fates.tolist() == [Fate.USED, Fate.ABANDONED]
    assert record.run_times.seconds.tolist() == [1.0, 2.5]


def test_who_sits_out_will_not_come_and_has_no_gradient() -> None:
    books = ledger(0, 1, 2, begun=False)
    books.started((0,), OPENED)
    books.sit_out(1)
    assert books.progress(1.0).gone.tolist() == [False, True, False]
    books.lose(1, 12.0, since=None)
    books.take(arrived(2.0, 0), 0)
    assert not books.complete
    books.sit_out(2)
    assert books.complete
    record = books.record(12.0, 0.0, set())
    assert record.fates.tolist() == [Fate.USED, Fate.UNSTARTED, Fate.UNSTARTED]
    assert record.run_times.workers.tolist() == [0]


def test_what_came_to_an_end_is_told_with_its_run_time() -> None:
    books = ledger(0, 1, 2)
    books.take(arrived(1.0, 2, finite=False), 0)
    books.lose(0, 12.0, since=OPENED)
    books.lose(1, 13.0, since=None)
    assert books.ended() == [(0, Fate.LOST, 2.0), (2, Fate.REJECTED, 1.0)]


@pytest.mark.parametrize(
    ("seconds", "usable"), [(1e-9, True), (0.0, False), (-1.0, False), (INF, False), (math.nan, False)]
)
def test_run_times_are_positive_and_finite(seconds: float, usable: bool) -> None:
    assert is_run_time(seconds) is usable
