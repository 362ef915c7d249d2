"""Counts and order statistics of joint forecasts: against brute force on draws from the forecast itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tailcut import counts, mixture
from tailcut.order import exact_order_means, time_grid
from tailcut.types import FloatArray, Forecast

SLOW_WEIGHTS = np.array([0.6, 0.1, 0.1, 0.05, 0.05, 0.04, 0.03, 0.03])


def lognormal(times: FloatArray, median: float, spread: float) -> FloatArray:
    survival: FloatArray = stats.norm.sf(np.log(times / median) / spread)
    return survival


def draw(forecast: Forecast, rounds: int, seed: int = 0) -> FloatArray:
    """`(rounds, n)` run times from the forecast's own law, infinite where they never come."""
    rng = np.random.default_rng(seed)
    scenarios = np.stack([rng.choice(len(w), rounds, p=w) for w in forecast.weights], axis=1)
    times = np.concatenate([[0.0], forecast.times])
    rows = np.empty((rounds, len(forecast)))
    for i, group in enumerate(forecast.groups):
        for scenario in range(len(forecast.survival)):
            here = scenarios[:, group] == scenario
            arrived = np.concatenate([[0.0], 1 - forecast.survival[scenario, i]])
            chance = rng.random(here.sum())
            rows[here, i] = np.where(chance < arrived[-1], np.interp(chance, arrived, times), np.inf)
    return rows


def bimodal(n: int, chance: float = 0.1, factor: float = 9.0, uneven: float = 0.0) -> Forecast:
    """Each worker is `factor` times slower with probability `chance`; levels differ by `uneven`."""
    levels = np.exp(uneven * np.random.default_rng(5).standard_normal(n))
    body = np.exp(np.linspace(-0.15, 0.15, 200))
    typical = np.outer(np.quantile(levels, [0, 0.1, 0.5, 0.9, 1]), np.concatenate([body, factor * body]))
    times = time_grid(typical)
    curves = [
        (1 - chance) * lognormal(times, m, 0.05) + chance * lognormal(times, m * factor, 0.05) for m in levels
    ]
    survival = np.stack(curves)
    survival[:, -1] = 0.0
    return Forecast.independent(np.arange(n), times, survival)


def on_nodes(n: int, nodes: int, factors: FloatArray, weights: FloatArray) -> Forecast:
    """Workers of a node are slower together by one of `factors`."""
    levels = np.exp(0.05 * np.random.default_rng(6).standard_normal(n))
    times = time_grid(np.outer(factors, np.exp(np.linspace(-0.3, 0.3, 200))))
    survival = np.stack([[lognormal(times, factor * m, 0.1) for m in levels] for factor in factors])
    survival[:, :, -1] = 0.0
    return Forecast(np.arange(n), times, survival, np.tile(weights, (nodes, 1)), np.arange(n) * nodes // n)


def assert_close_to_draws(forecast: Forecast, rounds: int, most: float = 0.01) -> None:
    """Check that the order statistics are within `most`, beyond four standard errors of the draws."""
    rows = np.minimum(np.sort(draw(forecast, rounds), axis=1), forecast.times[-1])
    expected, noise = rows.mean(axis=0), 4 * rows.std(axis=0) / np.sqrt(rounds)
    error = np.abs(counts.expected_order_statistics(forecast) - expected)
    assert (error <= most * expected + noise).all(), (error / expected).max()


def small_forecasts() -> st.SearchStrategy[Forecast]:
    def build(seed: int, n: int, groups: int, scenarios: int, size: int) -> Forecast:
        rng = np.random.default_rng(seed)
        steps = rng.dirichlet(np.full(size + 1, 0.5), size=(scenarios, n))
        survival = np.clip(1 - np.cumsum(steps, axis=2)[:, :, :size], 0, 1)
        weights = rng.dirichlet(np.ones(scenarios), size=groups)
        return Forecast(
            np.arange(n), np.cumsum(rng.exponential(1.0, size)), survival, weights, rng.integers(0, groups, n)
        )

    sizes = st.integers(1, 7), st.integers(1, 3), st.integers(1, 3), st.integers(1, 12)
    return st.builds(build, st.integers(0, 2**32), *sizes)


def brute_force_below(forecast: Forecast, at: int) -> FloatArray:
    """`(n,)` P(N(times[at]) < c), summed over all combinations of scenarios and outcomes."""
    n = len(forecast)
    below = np.zeros(n)
    for combination in itertools.product(range(len(forecast.survival)), repeat=len(forecast.weights)):
        weight = np.prod([w[s] for w, s in zip(forecast.weights, combination, strict=True)])
        late = np.array([forecast.survival[combination[g], i, at] for i, g in enumerate(forecast.groups)])
        for outcome in itertools.product((False, True), repeat=n):
            inside = np.array(outcome)
            chance = np.prod(np.where(inside, 1 - late, late))
            below[inside.sum() :] += weight * chance
    return below


class TestExpectedCount:
    @given(forecast=small_forecasts())
    @settings(max_examples=30, deadline=None)
    def test_is_the_sum_of_marginals(self, forecast: Forecast) -> None:
        at = len(forecast.times) // 2
        expected = (1 - brute_force_below(forecast, at)).sum()
        assert counts.expected_count(forecast)[at] == pytest.approx(expected, abs=1e-9)

    def test_everybody_by_the_end(self) -> None:
        assert counts.expected_count(bimodal(20))[-1] == pytest.approx(20)


class TestExpectedLast:
    @pytest.mark.parametrize("n", [1, 3, 158, 2175])
    def test_alike_workers_are_close_even_on_a_coarse_grid(self, n: int) -> None:
        times, survival = np.array([1.0, 2.0, 4.0]), np.array([0.7, 0.2, 0.0])
        last = counts.expected_last(Forecast.independent(np.arange(n), times, survival))
        np.testing.assert_allclose(last[-1], exact_order_means(times, survival, n)[-1], rtol=0.02)

    @pytest.mark.parametrize("nodes", [1, 4])
    def test_node_scenarios_against_draws(self, nodes: int) -> None:
        forecast = on_nodes(40, nodes, np.array([1.0, 3.0]), np.array([0.9, 0.1]))
        last = draw(forecast, 40_000).max(axis=1)
        for at in (10, 60, 90, len(forecast.times) - 1):
            capped = np.minimum(last, forecast.times[at])
            noise = 4 * capped.std() / np.sqrt(len(capped))
            assert abs(counts.expected_last(forecast)[at] - capped.mean()) < 0.003 * capped.mean() + noise

    def test_one_who_never_comes_keeps_the_round_open(self) -> None:
        times = np.array([1.0, 2.0, 5.0])
        survival = np.array([[0.5, 0.0, 0.0], [1.0, 1.0, 1.0]])
        last = counts.expected_last(Forecast.independent(np.arange(2), times, survival))
        np.testing.assert_allclose(last, times)

    @given(forecast=small_forecasts())
    @settings(deadline=None)
    def test_never_falls_and_never_exceeds_the_time(self, forecast: Forecast) -> None:
        last = counts.expected_last(forecast)
        assert (np.diff(last, prepend=0.0) >= -1e-12).all()
        assert (last <= forecast.times + 1e-12).all()


class TestFewWorkers:
    @given(forecast=small_forecasts())
    @settings(max_examples=30, deadline=None)
    def test_chance_of_missing_a_cutoff_is_exact(self, forecast: Forecast) -> None:
        groups = counts._by_group(forecast)
        _, missed = counts._exact_order_means(forecast.times, groups)
        np.testing.assert_allclose(missed, brute_force_below(forecast, -1), atol=1e-9)

    @given(forecast=small_forecasts())
    @settings(deadline=None)
    def test_sums_to_the_expected_run_times(self, forecast: Forecast) -> None:
        expected, _ = counts._exact_order_means(forecast.times, counts._by_group(forecast))
        missing = np.concatenate([[len(forecast)], len(forecast) - counts.expected_count(forecast)])
        total = np.trapezoid(missing, np.concatenate([[0.0], forecast.times]))
        assert expected.sum() == pytest.approx(total, rel=1e-9)

    @pytest.mark.parametrize("n", [1, 2, 5, 16])
    def test_alike_workers_on_a_coarse_grid(self, n: int) -> None:
        times, survival = np.array([1.0, 2.0, 4.0]), np.array([0.7, 0.2, 0.0])
        expected = counts.expected_order_statistics(Forecast.independent(np.arange(n), times, survival))
        np.testing.assert_allclose(expected, exact_order_means(times, survival, n), rtol=2e-3)

    @given(forecast=small_forecasts(), seed=st.integers(0, 99))
    @settings(deadline=None)
    def test_relabelling_workers_changes_nothing(self, forecast: Forecast, seed: int) -> None:
        shuffled = np.random.default_rng(seed).permutation(len(forecast))
        other = Forecast(
            forecast.workers,
            forecast.times,
            forecast.survival[:, shuffled],
            forecast.weights,
            forecast.groups[shuffled],
        )
        np.testing.assert_allclose(
            counts.expected_order_statistics(other), counts.expected_order_statistics(forecast), rtol=1e-9
        )

    @pytest.mark.parametrize("forecast", [bimodal(8), on_nodes(16, 4, 1.35 ** np.arange(8), SLOW_WEIGHTS)])
    def test_against_draws(self, forecast: Forecast) -> None:
        assert_close_to_draws(forecast, 50_000, most=0.002)


class TestManyWorkers:
    @pytest.mark.parametrize("n", [33, 158, 2175])
    def test_alike_workers_are_within_three_in_a_thousand(self, n: int) -> None:
        times = bimodal(1).times
        survival = bimodal(1).survival[0, 0]
        expected = counts.expected_order_statistics(Forecast.independent(np.arange(n), times, survival))
        np.testing.assert_allclose(expected, exact_order_means(times, survival, n), rtol=3e-3)

    def test_an_atom_in_one_interval(self) -> None:
        times, survival = np.array([0.999, 1.0, 9.0]), np.array([1.0, 0.1, 0.0])
        expected = counts.expected_order_statistics(Forecast.independent(np.arange(64), times, survival))
        np.testing.assert_allclose(expected, exact_order_means(times, survival, 64), rtol=0.015)

    @pytest.mark.parametrize(
        "forecast",
        [
            pytest.param(bimodal(158), id="one in ten nine times slower"),
            pytest.param(bimodal(158, uneven=0.3), id="uneven workers"),
            pytest.param(bimodal(256, 0.001, 30.0), id="one in a thousand thirty times slower"),
            pytest.param(on_nodes(158, 1, 1.35 ** np.arange(8), SLOW_WEIGHTS), id="one node, 8 scenarios"),
            pytest.param(on_nodes(158, 4, np.array([1.0, 3.0]), np.array([0.9, 0.1])), id="4 nodes"),
            pytest.param(on_nodes(158, 20, np.array([1.0, 3.0]), np.array([0.9, 0.1])), id="20 nodes"),
            pytest.param(on_nodes(158, 4, 1.35 ** np.arange(8), SLOW_WEIGHTS), id="4 nodes, 8 scenarios"),
        ],
    )
    def test_within_one_percent_of_draws(self, forecast: Forecast) -> None:
        assert_close_to_draws(forecast, 10_000)

    def test_merged_scenarios_of_many_nodes_are_within_three_percent(self) -> None:
        assert_close_to_draws(on_nodes(158, 20, 1.35 ** np.arange(8), SLOW_WEIGHTS), 10_000, most=0.03)

    def test_thousands_on_32_nodes(self) -> None:
        assert_close_to_draws(on_nodes(2175, 32, np.array([1.0, 3.0]), np.array([0.9, 0.1])), 1_000)

    def test_agrees_with_the_exact_law_where_both_apply(self) -> None:
        forecast = on_nodes(24, 2, np.array([1.0, 3.0]), np.array([0.8, 0.2]))
        groups = counts._by_group(forecast)
        exact, exactly_missed = counts._exact_order_means(forecast.times, groups)
        close, missed = mixture.mixture_order_means(forecast.times, groups)
        np.testing.assert_allclose(close, exact, rtol=0.01)
        np.testing.assert_allclose(missed, exactly_missed, atol=0.01)

    def test_scattered_groups_are_the_same_as_sorted_ones(self) -> None:
        forecast = on_nodes(60, 3, np.array([1.0, 3.0]), np.array([0.9, 0.1]))
        order = np.random.default_rng(0).permutation(60)
        other = Forecast(
            forecast.workers,
            forecast.times,
            forecast.survival[:, order],
            forecast.weights,
            forecast.groups[order],
        )
        expected = counts.expected_order_statistics(forecast)
        np.testing.assert_allclose(counts.expected_order_statistics(other), expected, rtol=1e-6)

    def test_never_falls(self) -> None:
        for forecast in (bimodal(100, uneven=0.5), on_nodes(100, 10, 1.35 ** np.arange(8), SLOW_WEIGHTS)):
            assert (np.diff(counts.expected_order_statistics(forecast)) >= 0).all()


class TestCutoffsThatAreNotReached:
    @pytest.mark.parametrize("n", [10, 158])
    def test_are_infinite(self, n: int) -> None:
        # All but three are in by 1; the three have a chance of one in ten to come at all.
        survival = np.tile([0.0, 0.0], (n, 1))
        survival[:3] = [1.0, 0.9]
        expected = counts.expected_order_statistics(
            Forecast.independent(np.arange(n), np.array([1.0, 4.0]), survival)
        )
        assert np.isfinite(expected).tolist() == [True] * (n - 3) + [False] * 3

    @pytest.mark.parametrize("n", [10, 158])
    def test_likely_ones_count_up_to_the_end_of_the_grid(self, n: int) -> None:
        survival = np.tile([0.0, 0.0], (n, 1))
        survival[0] = [1.0, 0.4]
        expected = counts.expected_order_statistics(
            Forecast.independent(np.arange(n), np.array([1.0, 4.0]), survival)
        )
        # The last comes evenly between 1 and 4 with probability 0.6: one waits 1 + 3 · 0.7 on average.
        assert expected[-1] == pytest.approx(3.1, rel=1e-6)

    def test_nobody_comes(self) -> None:
        forecast = Forecast.independent(np.arange(3), np.array([1.0]), np.array([1.0]))
        assert np.isinf(counts.expected_order_statistics(forecast)).all()


def test_a_scenario_that_cannot_be_changes_nothing() -> None:
    forecast = on_nodes(40, 2, np.array([1.0, 3.0]), np.array([1.0, 0.0]))
    alone = Forecast(
        forecast.workers, forecast.times, forecast.survival[:1], np.ones((2, 1)), forecast.groups
    )
    np.testing.assert_allclose(
        counts.expected_order_statistics(forecast), counts.expected_order_statistics(alone), rtol=1e-12
    )


def test_a_group_without_members_changes_nothing() -> None:
    forecast = bimodal(5)
    wider = Forecast(
        forecast.workers, forecast.times, forecast.survival, np.ones((3, 1)), forecast.groups + 1
    )
    np.testing.assert_allclose(
        counts.expected_order_statistics(wider), counts.expected_order_statistics(forecast), rtol=1e-12
    )
    np.testing.assert_allclose(counts.expected_last(wider), counts.expected_last(forecast), rtol=1e-12)
