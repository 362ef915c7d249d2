"""Every named cluster: `law` is the law that `sample` draws from."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tailcut.clusters import PRESETS, Cluster, Iid, LogNormal, Switch, fail_at, slow_at
from tailcut.types import FloatArray, Forecast, IntArray

CLUSTERS: dict[str, Cluster] = {
    name: cluster
    for name, cluster in ((name, preset.factory()) for name, preset in PRESETS.items())
    if cluster.has_law
}
CLUSTERS |= {
    "slow-at": slow_at(PRESETS["nodes16"].factory(), worker=0, round=0, factor=3.0, rounds=10_000),
    "fail-at": fail_at(PRESETS["nodes16"].factory(), worker=0, round=3),
    "nested": Switch(slow_at(Iid(LogNormal(), 16), 1, 50, 2.0, 200), PRESETS["nodes16"].factory(), at=300),
    "eager by marginals": PRESETS["eager"].factory(n=40),
    "persistent, quick": PRESETS["persistent"].factory(dwell=5.0),
    "markov, white": PRESETS["nodes16"].factory(sd=0.0, p_spike=0.2, alpha=0.7),
    "markov, never slow": PRESETS["nodes16"].factory(p_slow=0.0),
}
each_cluster = pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS.keys())


def unrelated(forecast: Forecast, most: int = 8) -> IntArray:
    """Positions of workers independent of each other: one per group, or any if one scenario is all."""
    if len(forecast.weights[0]) > 1:
        return np.unique(forecast.groups, return_index=True)[1]
    return np.unique(np.linspace(0, len(forecast) - 1, most).astype(np.int64))


def survival_at(forecast: Forecast, position: int, seconds: float) -> tuple[float, float]:
    """P(x > seconds) of one worker, and what remains after the last time."""
    curve = forecast.weights[forecast.groups[position]] @ forecast.survival[:, position]
    at = np.interp(seconds, np.append(0.0, forecast.times), np.append(1.0, curve))
    return float(at), float(curve[-1])


def transforms(cluster: Cluster, rounds: int, seed: int) -> FloatArray:
    """P(x > what was drawn | hidden) for unrelated workers: independent and uniform if `law` is right."""
    rng = np.random.default_rng(seed)
    sample = cluster.sample(rounds, rng)
    arrivals = sample.table.arrivals()
    found = []
    for row in range(rounds):
        forecast = cluster.law(sample.hidden[row])
        for position in unrelated(forecast):
            value, rest = survival_at(forecast, int(position), arrivals[row, forecast.workers[position]])
            # Beyond the grid only "later than all of it, or never" is known: spread that evenly.
            found.append(rest * rng.random() if value <= rest else value)
    return np.array(found)


@each_cluster
def test_the_law_is_what_is_drawn_from(cluster: Cluster) -> None:
    u = transforms(cluster, rounds=150 if cluster.workers > 1000 else 800, seed=11)
    chance = math.sqrt(math.log(2e6) / (2 * len(u)))  # exceeded once in a million (Massart)
    tabulation = 0.004  # curves are linear between some 128 times
    assert stats.kstest(u, "uniform").statistic <= chance + tabulation


@pytest.mark.parametrize(("name", "level", "rounds"), [("nodes16", 1.5, 3000), ("eager", 0.6, 15_000)])
def test_workers_of_a_group_share_their_fate_as_the_law_says(name: str, level: float, rounds: int) -> None:
    cluster = PRESETS[name].factory()
    sample = cluster.sample(rounds, np.random.default_rng(5))
    both, expected, alone = [], [], []
    for row in range(rounds):
        forecast = cluster.law(sample.hidden[row])
        place = int(np.searchsorted(forecast.times, level))
        seconds = forecast.times[place]
        for group in range(len(forecast.weights)):
            pair = np.flatnonzero(forecast.groups == group)[:2]
            curves = forecast.survival[:, pair, place]
            both.append((sample.table.seconds[row, pair] > seconds).all())
            expected.append(forecast.weights[group] @ curves.prod(axis=1))
            alone.append((forecast.weights[group] @ curves).prod())
    p = np.array(expected)
    spread = math.sqrt((p * (1 - p)).sum())
    assert abs(np.sum(both) - p.sum()) < 5 * spread  # one failure in a million
    assert abs(np.sum(both) - np.sum(alone)) > 5 * spread, "independence would be noticed"


@each_cluster
def test_forecasts_are_well_formed(cluster: Cluster) -> None:
    sample = cluster.sample(40, np.random.default_rng(2))
    for row in (0, 4, 39):
        forecast = cluster.law(sample.hidden[row])
        scenarios, n, times = forecast.survival.shape
        assert forecast.workers.tolist() == sample.table.roster(row).workers.tolist()
        assert n == len(forecast) == len(forecast.groups)
        assert times == len(forecast.times) <= 256
        assert forecast.times[0] > 0
        assert (np.diff(forecast.times) > 0).all()
        assert (forecast.survival >= 0).all()
        assert (forecast.survival <= 1).all()
        assert (np.diff(forecast.survival, axis=2) <= 1e-12).all()
        assert forecast.weights.shape[1] == scenarios
        assert forecast.weights.sum(axis=1) == pytest.approx(1)
        assert sorted(set(forecast.groups.tolist())) == list(range(len(forecast.weights)))


@each_cluster
def test_same_seed_same_sample(cluster: Cluster) -> None:
    first, again, other = (cluster.sample(12, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert np.array_equal(first.table.seconds, again.table.seconds, equal_nan=True)
    assert np.array_equal(first.table.observed, again.table.observed)
    assert np.array_equal(first.hidden, again.hidden, equal_nan=True)
    assert not np.array_equal(first.table.seconds, other.table.seconds, equal_nan=True)


@each_cluster
def test_samples_have_the_shape_they_promise(cluster: Cluster) -> None:
    sample = cluster.sample(12, np.random.default_rng(3))
    assert sample.table.seconds.shape == (12, cluster.workers)
    assert len(sample.hidden) == 12
    assert np.nanmin(sample.table.seconds) > 0
    assert np.isfinite(sample.table.seconds[sample.table.observed]).all()
    assert np.array_equal(sample.table.nodes, cluster.nodes())
    assert cluster.sample(0, np.random.default_rng(3)).table.rounds == 0
