"""Workers that fail and return, by chance and by script."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tailcut.clusters import (
    PRESETS,
    Deterministic,
    FailAndReturn,
    FailAt,
    Iid,
    MarkovNodes,
    SlowAt,
    fail_at,
    slow_at,
)
from tailcut.table import Table

THREE = Iid(Deterministic(1.0), 3, overhead=0.3)


def rng() -> np.random.Generator:
    return np.random.default_rng(9)


def test_failures_are_noticed_once_then_the_worker_is_away() -> None:
    table = FailAndReturn(p_fail=0.05, p_return=0.2).sample(400, rng()).table
    away = np.isnan(table.seconds)
    fails = ~away & ~table.observed
    assert fails.any()
    assert np.array_equal(fails[:-1], ~away[:-1] & away[1:])
    assert not away[0].any()


def test_rates_of_failure_and_return() -> None:
    table = FailAndReturn(n=200, p_fail=0.05, p_return=0.2).sample(500, rng()).table
    away = np.isnan(table.seconds)[:, 2:]
    present = ~away[:-1]
    fail_share, back_share = away[1:][present].mean(), 1 - away[1:][~present].mean()
    # Five standard errors each.
    assert fail_share == pytest.approx(0.05, abs=5 * math.sqrt(0.05 * 0.95 / present.sum()))
    assert back_share == pytest.approx(0.2, abs=5 * math.sqrt(0.2 * 0.8 / (~present).sum()))


def test_two_workers_are_always_there() -> None:
    table = FailAndReturn(n=6, p_fail=0.9, p_return=0.05).sample(300, rng()).table
    assert table.observed[:, :2].all()
    assert (table.observed.sum(axis=1) == 2).any()


def test_a_loss_is_noticed_within_the_run_time() -> None:
    cluster = FailAndReturn(n=100, p_fail=0.3, p_return=1.0, sigma=1e-6)
    table = cluster.sample(200, rng()).table
    noticed = table.seconds[~np.isnan(table.seconds) & ~table.observed]
    assert stats.kstest(noticed, "uniform").pvalue > 1e-6


def test_the_law_knows_who_is_there_and_who_may_fail() -> None:
    cluster = FailAndReturn(n=5, p_fail=0.1)
    forecast = cluster.law(np.array([1.0, 1.0, 0.0, 1.0, 0.0]))
    assert forecast.workers.tolist() == [0, 1, 3]
    assert forecast.survival[0, :, -1] == pytest.approx([0, 0, 0.1], abs=1e-3)


def test_slow_at_slows_one_worker_for_its_rounds() -> None:
    cluster = slow_at(THREE, worker=1, round=2, factor=4.0, rounds=2)
    assert isinstance(cluster, SlowAt)
    sample = cluster.sample(6, rng())
    assert sample.table.seconds[:, 1].tolist() == [1, 1, 4, 4, 1, 1]
    assert (sample.table.seconds[:, [0, 2]] == 1).all()
    for row, at in enumerate([1, 1, 4, 4, 1, 1]):
        forecast = cluster.law(sample.hidden[row])
        curve = forecast.survival[0, 1]
        assert np.interp(at * 0.99, forecast.times, curve) == pytest.approx(1)
        assert np.interp(at * 1.01, forecast.times, curve) == pytest.approx(0, abs=1e-12)


def test_a_worker_can_be_made_faster_too() -> None:
    cluster = slow_at(THREE, worker=0, round=0, factor=0.5)
    forecast = cluster.law(np.array([0.0]))
    assert np.interp([0.49, 0.51], forecast.times, forecast.survival[0, 0]) == pytest.approx(
        [1, 0], abs=1e-12
    )
    assert np.interp([0.98, 1.01], forecast.times, forecast.survival[0, 1]) == pytest.approx(
        [1, 0], abs=1e-12
    )


def test_fail_at_loses_one_worker_until_it_is_back() -> None:
    cluster = fail_at(THREE, worker=2, round=1, back=3)
    assert isinstance(cluster, FailAt)
    sample = cluster.sample(5, rng())
    assert sample.table.seconds[:, 2].tolist() == pytest.approx([1, 0.5, math.nan, 1, 1], nan_ok=True)
    assert sample.table.observed[:, 2].tolist() == [True, False, False, True, True]
    laws = [cluster.law(row) for row in sample.hidden]
    assert [law.workers.tolist() for law in laws] == [[0, 1, 2], [0, 1, 2], [0, 1], [0, 1, 2], [0, 1, 2]]
    assert (laws[1].survival[0, 2] == 1).all()
    assert laws[1].survival[0, 1, -1] == 0


def test_without_a_return_it_is_gone_for_good() -> None:
    table = fail_at(THREE, worker=0, round=3).sample(6, rng()).table
    assert np.isnan(table.seconds[4:, 0]).all()
    assert table.observed[:, 1:].all()


def test_a_group_that_loses_its_only_worker_leaves_the_forecast() -> None:
    cluster = fail_at(MarkovNodes(n=3, node_count=3), worker=1, round=0)
    forecast = cluster.law(np.array([1.0, 0.0, 0.0, 1.0]))
    assert forecast.workers.tolist() == [0, 2]
    assert forecast.groups.tolist() == [0, 1]
    assert forecast.weights[:, 1] == pytest.approx([0.02, 0.94])


def test_tables_take_the_same_trouble() -> None:
    table = Table.dense(np.ones((4, 3)))
    slow = slow_at(table, worker=0, round=1, factor=2.0)
    assert slow.seconds[:, 0].tolist() == [1, 2, 1, 1]
    lost = fail_at(slow, worker=0, round=1, back=3)
    assert lost.seconds[:, 0].tolist() == pytest.approx([1, 1, math.nan, 1], nan_ok=True)
    assert lost.observed[:, 0].tolist() == [True, False, False, True]
    assert table.whole, "the table given is left as it was"


def test_trouble_can_be_piled_up() -> None:
    cluster = fail_at(slow_at(PRESETS["trap10"].factory(), 9, 2, 5.0), 0, 2)
    sample = cluster.sample(105, rng())
    assert sample.table.seconds[2, 9] > 3
    assert np.isnan(sample.table.seconds[3:, 0]).all()
    assert len(cluster.law(sample.hidden[104])) == 9


def test_wrappers_keep_the_overhead_of_what_they_wrap_unless_told() -> None:
    assert slow_at(THREE, 0, 0, 2.0).overhead == 0.3
    assert fail_at(THREE, 0, 0).overhead == 0.3
    assert FailAt(THREE, 0, 0, overhead=0.0).overhead == 0.0
