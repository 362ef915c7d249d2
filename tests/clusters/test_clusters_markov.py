"""Nodes that slow down: frequencies of the hidden chain, of the autoregression and of the spikes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from tailcut.clusters import PRESETS, MarkovNodes, PersistentStates
from tailcut.clusters.spikes import spiked_curve


def near(found: float, p: float, n: float, sds: float = 5.0) -> bool:
    """Return whether a share among n trials fits the probability p; wrong about once in a million."""
    return abs(found - p) <= sds * math.sqrt(p * (1 - p) / n)


def test_workers_fill_nodes_in_even_blocks() -> None:
    assert np.bincount(PRESETS["xeon158"].factory().nodes()).tolist() == [40, 40, 39, 39]
    assert np.bincount(PRESETS["knl2175"].factory().nodes()).tolist() == [68] * 31 + [67]


def test_nodes_slow_down_and_recover_as_often_as_said() -> None:
    cluster = MarkovNodes(n=50, node_count=50)
    slow = cluster.sample(4000, np.random.default_rng(1)).hidden > 0.5
    before, after = slow[:-1], slow[1:]
    assert near(after[~before].mean(), 0.02, (~before).sum())
    assert near((~after)[before].mean(), 0.06, before.sum())


def test_the_chain_starts_in_its_stationary_law() -> None:
    cluster = MarkovNodes(n=20_000, node_count=20_000)
    slow = cluster.sample(2, np.random.default_rng(2)).hidden > 0.5
    assert near(slow[0].mean(), 0.25, 20_000)
    assert near(slow[1].mean(), 0.25, 20_000)


def test_levels_are_stationary_and_remember() -> None:
    cluster = MarkovNodes(n=2000, node_count=4, rho=0.9, sd=0.08)
    levels = cluster.sample(60, np.random.default_rng(3)).hidden[:, 4:]
    assert levels[0].std() == pytest.approx(0.08, rel=0.08)
    assert levels[-1].std() == pytest.approx(0.08, rel=0.08)
    assert np.corrcoef(levels[30], levels[31])[0, 1] == pytest.approx(0.9, abs=0.03)


def test_hidden_states_precede_their_round() -> None:
    cluster = MarkovNodes(n=8, node_count=2, p_slow=0.3, p_recover=0.3, factor=10.0)
    sample = cluster.sample(200, np.random.default_rng(4))
    slow = (sample.table.seconds > 3)[:, [0, 4]]
    assert np.array_equal(slow[:-1], sample.hidden[1:] > 0.5)


def test_scenarios_are_fast_and_slow_with_the_transition_probabilities() -> None:
    cluster = MarkovNodes(n=8, node_count=2, factor=3.0)
    forecast = cluster.law(np.array([0.0, 1.0]))
    assert forecast.weights == pytest.approx(np.array([[0.98, 0.02], [0.06, 0.94]]))
    assert forecast.groups.tolist() == [0] * 4 + [1] * 4
    middle = int(np.searchsorted(forecast.times, 2.0))
    assert forecast.survival[0, :, middle] == pytest.approx(0, abs=1e-6)
    assert forecast.survival[1, :, middle] == pytest.approx(1, abs=1e-6)


def test_a_worker_above_its_level_comes_back_towards_it() -> None:
    cluster = MarkovNodes(n=2, node_count=1, p_slow=0.0, rho=0.5, sd=0.2, noise=0.01)
    forecast = cluster.law(np.array([0.0, 0.4, -0.4]))
    medians = [np.interp(-0.5, -curve, forecast.times) for curve in forecast.survival[0]]
    assert medians == pytest.approx([math.exp(0.2), math.exp(-0.2)], rel=5e-3)


def test_nodes_that_cannot_matter_have_no_scenarios() -> None:
    for cluster in (MarkovNodes(p_slow=0.0), MarkovNodes(factor=1.0)):
        assert cluster.law(np.zeros(4)).weights.shape == (1, 1)


def test_spikes_exceed_a_factor_as_often_as_said() -> None:
    cluster = MarkovNodes(n=500, p_slow=0.0, noise=1e-3, p_spike=0.2, alpha=1.5)
    x = cluster.sample(200, np.random.default_rng(5)).table.seconds
    assert near(np.mean(x > 1.1), 0.2 * 1.1**-1.5, x.size)
    assert near(np.mean(x > 4.0), 0.2 * 4.0**-1.5, x.size)


@pytest.mark.parametrize(("sd", "p_spike", "alpha"), [(0.06, 0.01, 1.5), (0.5, 0.3, 0.8), (0.1, 0.0, 1.5)])
def test_the_spiked_curve_is_the_integral_it_stands_for(sd: float, p_spike: float, alpha: float) -> None:
    curve = spiked_curve(sd, p_spike, alpha)
    z = np.array([-30.0, -3 * sd, -sd, 0.0, 0.7 * sd, 2 * sd, 1.0, 3.0])
    for point, found in zip(z, curve.at(z), strict=True):
        body = stats.norm.sf(point / sd)
        # P(spike > exp(z - y)) over the normal y; where y > z the spike does not matter.
        rest, _ = integrate.quad(
            lambda y, at=point: stats.norm.pdf(y / sd) / sd * math.exp(-alpha * (at - y)),
            min(-9 * sd, point),
            min(point, 9 * sd),
            points=[min(point, 0.0)],
        )
        assert found == pytest.approx(body + p_spike * rest, abs=5e-5)


def test_persistent_spells_last_and_keep_their_factor() -> None:
    cluster = PersistentStates(n=2000, dwell=20.0)
    level = cluster.sample(300, np.random.default_rng(6)).hidden
    slow = level > 1
    assert near(slow[0].mean(), 0.2, 2000)
    assert near(slow[-1].mean(), 0.2, 2000)
    assert near((slow[:-1] & ~slow[1:]).sum() / slow[:-1].sum(), 1 / 20, slow[:-1].sum())
    stays = slow[:-1] & slow[1:]
    assert np.array_equal(level[:-1][stays], level[1:][stays])
    assert level[slow].min() >= 2
    assert level[slow].max() <= 4
    begins = slow[1:] & ~slow[:-1]
    factors = np.log2(level[1:][begins]) - 1
    assert stats.kstest(factors, "uniform").pvalue > 1e-6
