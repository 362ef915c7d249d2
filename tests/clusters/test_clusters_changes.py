"""Clusters that change by the calendar do so at the documented round."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut.clusters import PRESETS, Cluster, Drift, FixedLevels, GroupsInTurn, Iid, LogNormal, Switch
from tailcut.types import FloatArray


def logs(cluster: Cluster, rounds: int) -> FloatArray:
    found: FloatArray = np.log(cluster.sample(rounds, np.random.default_rng(7)).table.seconds)
    return found


def forecast_medians(cluster: Cluster, round: int) -> FloatArray:
    forecast = cluster.law(np.array([float(round)]))
    return np.array([np.interp(-0.5, -curve, forecast.times) for curve in forecast.survival[0]])


def test_groups_take_turns_of_25_rounds() -> None:
    cluster = GroupsInTurn(sigma=0.01)
    slow = logs(cluster, 230) > np.log(1.5)
    group = cluster.nodes()
    assert np.bincount(group).tolist() == [40, 40, 39, 39]
    for round in (0, 24, 25, 99, 100, 229):
        assert np.array_equal(slow[round], group == round // 25 % 4)
        assert np.array_equal(forecast_medians(cluster, round) > 1.5, slow[round])


@pytest.mark.parametrize(("name", "at", "slower"), [("trap10", 100, 8), ("sudden-change", 300, 10)])
def test_the_change_comes_at_its_round_and_for_good(name: str, at: int, slower: int) -> None:
    cluster = PRESETS[name].factory()
    x = logs(cluster, at + 200)
    # 0.1 is the spread of one log run time, log 3 = 1.1 the change: half-way is five spreads from both.
    assert (x[:at] < np.log(3) / 2).all()
    assert np.array_equal(
        x[at:] > np.log(3) / 2, np.broadcast_to(np.arange(cluster.workers) < slower, x[at:].shape)
    )
    assert forecast_medians(cluster, at - 1) == pytest.approx(1, rel=0.01)
    assert forecast_medians(cluster, at)[:slower] == pytest.approx(3, rel=0.01)
    assert forecast_medians(cluster, at)[slower:] == pytest.approx(1, rel=0.01)


def test_the_level_swings_up_and_down_within_a_period() -> None:
    cluster = Drift(n=400, factor=2.0, period=100)
    x = logs(cluster, 201).mean(axis=1)
    # 400 workers of spread 0.2 give 0.01; five of them.
    assert x[[0, 25, 50, 75, 100, 150, 200]] == pytest.approx(
        np.log(2) * np.array([0, 0.5, 1, 0.5, 0, 1, 0]), abs=0.05
    )
    assert forecast_medians(cluster, 50) == pytest.approx(2, rel=0.01)


def test_a_linear_drift_climbs_once() -> None:
    cluster = Drift(factor=2.0, period=100, shape="linear")
    assert cluster.level(np.array([0.0, 50.0, 100.0, 500.0])) == pytest.approx([1, 1.5, 2, 2])
    assert forecast_medians(cluster, 50) == pytest.approx(1.5, rel=0.01)


def test_levels_belong_to_the_cluster_not_to_the_sample() -> None:
    cluster = FixedLevels(level_seed=5)
    one, two = (cluster.sample(3, np.random.default_rng(seed)).hidden for seed in (1, 2))
    assert np.array_equal(one, two)
    assert np.array_equal(one[0], cluster.levels())
    assert not np.array_equal(cluster.levels(), FixedLevels(level_seed=6).levels())
    assert FixedLevels(n=4000).levels().std() == pytest.approx(0.3, rel=0.2)


def test_a_switch_starts_the_second_cluster_afresh() -> None:
    second = GroupsInTurn(n=8, groups=4, period=10, sigma=0.01)
    cluster = Switch(Iid(LogNormal(1.0, 0.01), 8), second, at=15)
    slow = logs(cluster, 40) > np.log(1.5)
    assert not slow[:15].any()
    assert np.array_equal(slow[15], second.nodes() == 0)
    assert np.array_equal(slow[25], second.nodes() == 1)


def test_a_switch_that_is_not_reached_is_its_first_cluster() -> None:
    cluster = Switch(Iid(LogNormal(), 4), PRESETS["nodes16"].factory(n=4), at=15)
    assert cluster.sample(10, np.random.default_rng(0)).table.rounds == 10


def test_a_switch_keeps_the_overhead_of_the_first_unless_told() -> None:
    first = Iid(LogNormal(), 4, overhead=0.2)
    assert Switch(first, Iid(LogNormal(), 4), at=1).overhead == 0.2
    assert Switch(first, Iid(LogNormal(), 4), at=1, overhead=0.0).overhead == 0.0


def test_exactly_two_ranks_sleep() -> None:
    x = PRESETS["eager"].factory().sample(2000, np.random.default_rng(8)).table.seconds
    assert ((x > 0.58).sum(axis=1) == 2).all()
    shares = (x > 0.58).mean(axis=0)
    assert shares == pytest.approx(1 / 8, abs=5 * np.sqrt(1 / 8 * 7 / 8 / 2000))
