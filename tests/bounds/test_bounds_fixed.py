"""The best fixed settings in hindsight against trying them all."""

from __future__ import annotations

import numpy as np
import pytest
from bounds_tables import OVERHEADS, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.bounds import best_deadline, best_static
from tailcut.bounds.fixed import side_by_side
from tailcut.bounds.sorted_rounds import SortedRounds
from tailcut.engines.simulated import Run, replay
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.rules import Backup, Deadline
from tailcut.table import Table
from tailcut.types import FloatArray

HALF_SECONDS = np.arange(0.5, 14.0, 0.5)
"""All moments at which anything happens in a table of whole seconds, and the moments between."""


def finish_rates(table: Table, overhead: float, skip: int, **settings: FloatArray) -> FloatArray:
    found = side_by_side(table, overhead, True, **settings)
    rates: FloatArray = found.counts[skip:].sum(axis=0) / found.costs[skip:].sum(axis=0)
    return rates


def cut_at_count(table: Table, count: int, overhead: float, late_finish: bool) -> Run:
    return replay(table, Policy(NoForecast(), Backup(c=count)), late_finish=late_finish, overhead=overhead)


def cut_at_time(table: Table, seconds: float, overhead: float, late_finish: bool) -> Run:
    policy = Policy(NoForecast(), Deadline(seconds=seconds))
    return replay(table, policy, late_finish=late_finish, overhead=overhead)


def same(one: Run, other: Run) -> None:
    for name in ("elapsed", "counts", "accepted", "idle", "present", "values"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@settings(max_examples=100, deadline=None)
@given(table=tables(), overhead=OVERHEADS, late_finish=st.booleans(), data=st.data())
def test_the_best_static_cutoff_is_the_best_of_all_cutoffs(
    table: Table, overhead: float, late_finish: bool, data: st.DataObject
) -> None:
    skip = data.draw(st.integers(0, table.rounds - 1))
    best = best_static(table, overhead, late_finish, skip)
    runs = [cut_at_count(table, c, overhead, late_finish) for c in range(1, table.workers + 1)]
    assert best.run.throughput(skip) == max(run.throughput(skip) for run in runs)
    same(best.run, runs[int(best.setting) - 1])


@settings(max_examples=100, deadline=None)
@given(table=tables(), overhead=OVERHEADS, data=st.data())
def test_the_best_deadline_is_the_best_of_all_moments(
    table: Table, overhead: float, data: st.DataObject
) -> None:
    skip = data.draw(st.integers(0, table.rounds - 1))
    best = best_deadline(table, overhead, skip=skip)
    rates = [cut_at_time(table, d, overhead, late_finish=False).throughput(skip) for d in HALF_SECONDS]
    assert best.run.throughput(skip) == max(rates)
    same(best.run, cut_at_time(table, best.setting, overhead, late_finish=False))


@settings(max_examples=100, deadline=None)
@given(table=tables(), overhead=OVERHEADS)
def test_rounds_cut_all_at_once_are_the_rounds_one_by_one(table: Table, overhead: float) -> None:
    rounds = SortedRounds.of(table)
    for count in range(1, table.workers + 1):
        run = cut_at_count(table, count, overhead, late_finish=False)
        counts, elapsed = rounds.cut_at_count(count)
        assert counts.tolist() == run.counts.tolist()
        assert elapsed.tolist() == run.elapsed.tolist()
    for seconds in HALF_SECONDS:
        run = cut_at_time(table, float(seconds), overhead, late_finish=False)
        counts, elapsed = rounds.cut_at_time(float(seconds))
        assert counts.tolist() == run.counts.tolist()
        assert elapsed.tolist() == run.elapsed.tolist()


@settings(max_examples=100, deadline=None)
@given(table=tables(), overhead=OVERHEADS, data=st.data())
def test_where_late_workers_finish_all_candidates_side_by_side_are_the_runs_one_by_one(
    table: Table, overhead: float, data: st.DataObject
) -> None:
    skip = data.draw(st.integers(0, table.rounds - 1))
    counts = np.arange(1.0, table.workers + 1)
    by_count = [cut_at_count(table, int(c), overhead, late_finish=True).throughput(skip) for c in counts]
    assert finish_rates(table, overhead, skip, cutoffs=counts).tolist() == pytest.approx(by_count, rel=1e-12)
    by_time = [
        cut_at_time(table, float(d), overhead, late_finish=True).throughput(skip) for d in HALF_SECONDS
    ]
    rates = finish_rates(table, overhead, skip, deadlines=HALF_SECONDS)
    assert rates.tolist() == pytest.approx(by_time, rel=1e-12)


def test_side_by_side_a_worker_that_was_absent_comes_back_free() -> None:
    # Worker 1 is absent in round 1 and back in round 2, long before it would have been done with round 0.
    seconds = np.array([[1.0, 9.0], [1.0, np.nan], [3.0, 1.0]])
    rates = finish_rates(Table.dense(seconds), 0.0, 0, cutoffs=np.array([1.0, 2.0]))
    assert rates.tolist() == [3 / 3.0, 5 / 13.0]


def smooth(seed: int, rounds: int, workers: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    slow = np.where(rng.random((rounds, workers)) < 0.1, 4.0, 1.0)
    return slow * rng.lognormal(0.0, 0.3, (rounds, workers))


def test_side_by_side_equals_one_by_one_with_any_run_times() -> None:
    table = Table.dense(smooth(0, 120, 9))
    counts, seconds = np.arange(1.0, 10.0), np.linspace(0.3, 9.0, 23)
    by_count = [cut_at_count(table, int(c), 0.07, late_finish=True).throughput(20) for c in counts]
    np.testing.assert_allclose(finish_rates(table, 0.07, 20, cutoffs=counts), by_count, rtol=1e-9)
    by_time = [cut_at_time(table, float(d), 0.07, late_finish=True).throughput(20) for d in seconds]
    np.testing.assert_allclose(finish_rates(table, 0.07, 20, deadlines=seconds), by_time, rtol=1e-9)


def test_among_many_workers_the_best_static_cutoff_is_found_in_two_passes() -> None:
    table = Table.dense(smooth(1, 60, 150))
    best = best_static(table, 0.1, late_finish=True, skip=10)
    rates = finish_rates(table, 0.1, 10, cutoffs=np.arange(1.0, 151.0))
    assert best.run.throughput(10) >= 0.995 * rates.max()
    assert best.run.throughput(10) == pytest.approx(rates[int(best.setting) - 1], rel=1e-9)


def test_among_many_moments_the_best_deadline_is_found_in_two_passes() -> None:
    table = Table.dense(smooth(2, 200, 16))
    best = best_deadline(table, 0.1)
    rounds = SortedRounds.of(table)
    rates = []
    for seconds in np.unique(table.seconds):
        counts, elapsed = rounds.cut_at_time(float(seconds))
        rates.append(counts.sum() / (elapsed + 0.1).sum())
    assert len(rates) > 3000
    assert best.run.throughput() >= 0.999 * max(rates)


def test_where_late_workers_finish_the_best_deadline_is_close_to_the_best_of_a_fine_grid() -> None:
    table = Table.dense(smooth(3, 200, 8))
    best = best_deadline(table, 0.1, late_finish=True, skip=20)
    rates = finish_rates(table, 0.1, 20, deadlines=np.geomspace(0.3, 20.0, 1000))
    assert best.run.throughput(20) >= 0.99 * rates.max()


def test_where_nothing_straggles_both_wait_for_all() -> None:
    table = Table.dense(np.full((20, 5), 2.0))
    for late_finish in (False, True):
        static, deadline = (best(table, 0.5, late_finish) for best in (best_static, best_deadline))
        assert static.setting == 5.0
        assert deadline.setting >= 2.0
        assert static.run.throughput() == deadline.run.throughput() == 5 / 2.5


def test_a_count_of_more_than_come_waits_until_the_others_are_known_to_be_gone() -> None:
    seconds = np.array([[1.0, 4.0, np.nan], [1.0, 2.0, 3.0]])
    table = Table(seconds, np.array([[True, False, False], [True, True, True]]), (0, 1, 2), np.full(3, -1))
    counts, elapsed = SortedRounds.of(table).cut_at_count(2)
    assert counts.tolist() == [1, 2]
    assert elapsed.tolist() == [4.0, 2.0]
    counts, elapsed = SortedRounds.of(table).cut_at_time(3.5)
    assert counts.tolist() == [1, 3]
    assert elapsed.tolist() == [3.5, 3.0]
