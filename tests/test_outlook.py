"""The expected arrivals of an open round, against direct formulas, Bayes' rule by hand and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.outlook import Outlook
from tailcut.types import Forecast

TIMES = np.linspace(0.25, 4.0, 16)
NOBODY_GONE = np.zeros(3, np.bool_)


def exponential(*means: float) -> np.ndarray:
    return np.exp(-TIMES[None, :] / np.array(means)[:, None])


def of(survival: np.ndarray, weights: np.ndarray | None = None, groups: np.ndarray | None = None) -> Outlook:
    scenarios = survival if survival.ndim == 3 else survival[None]
    n = scenarios.shape[1]
    groups = np.zeros(n, np.int64) if groups is None else groups
    weights = np.ones((1, 1)) if weights is None else weights
    return Outlook(Forecast(np.arange(n), TIMES, scenarios, weights, groups))


def test_expected_arrivals_are_sums_of_conditional_distribution_functions() -> None:
    survival = exponential(0.5, 1.0, 2.0)
    elapsed = TIMES[3]
    arrivals = np.array([np.inf, 0.4, np.inf])
    future = of(survival).future(elapsed, arrivals, NOBODY_GONE)
    expected = sum(1 - survival[i, 4:] / survival[i, 3] for i in (0, 2))
    np.testing.assert_allclose(future.arrivals, expected, rtol=1e-12)
    np.testing.assert_array_equal(future.times, TIMES[4:])


def test_the_waiting_time_ends_with_the_last_arrival() -> None:
    survival = exponential(0.5, 1.0, 2.0)
    future = of(survival).future(0.0, np.full(3, np.inf), NOBODY_GONE)
    anybody = 1 - np.prod(1 - survival, axis=0)
    steps = np.diff(TIMES, prepend=0.0)
    by_hand = np.cumsum(steps * (np.concatenate([[1.0], anybody[:-1]]) + anybody) / 2)
    np.testing.assert_allclose(future.waiting, by_hand, rtol=1e-12)


def test_with_many_out_skipping_the_product_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    survival = np.exp(-TIMES[None, :] / rng.uniform(0.2, 0.5, 60)[:, None])
    future = of(survival).future(0.0, np.full(60, np.inf), np.zeros(60, np.bool_))
    anybody = 1 - np.prod(1 - survival, axis=0)
    steps = np.diff(TIMES, prepend=0.0)
    by_hand = np.cumsum(steps * (np.concatenate([[1.0], anybody[:-1]]) + anybody) / 2)
    np.testing.assert_allclose(future.waiting, by_hand, rtol=1e-6)


def test_who_is_gone_or_in_is_not_expected() -> None:
    future = of(exponential(1.0, 1.0, 1.0)).future(
        0.5, np.array([0.3, np.inf, np.inf]), np.array([False, False, True])
    )
    assert future.arrivals.max() <= 1.0


def test_when_all_are_in_or_the_grid_ends_there_is_no_future() -> None:
    outlook = of(exponential(1.0, 1.0, 1.0))
    assert len(outlook.future(0.5, np.array([0.1, 0.2, 0.3]), NOBODY_GONE).times) == 0
    assert len(outlook.future(TIMES[-1], np.full(3, np.inf), NOBODY_GONE).times) == 0


def test_an_overdue_worker_is_not_expected_any_more() -> None:
    survival = np.vstack([np.where(TIMES < 1.0, 1.0, 0.0), exponential(1.0)[0], exponential(1.0)[0]])
    future = of(survival).future(2.0, np.full(3, np.inf), NOBODY_GONE)
    assert future.arrivals[-1] < 2.0
    assert np.isfinite(future.arrivals).all()


@pytest.fixture
def two_regimes() -> tuple[np.ndarray, np.ndarray]:
    """Fast and slow scenario for one group of three."""
    return np.stack([exponential(0.3, 0.3, 0.3), exponential(3.0, 3.0, 3.0)]), np.array([[0.9, 0.1]])


def test_silence_speaks_for_the_slow_scenario(two_regimes: tuple[np.ndarray, np.ndarray]) -> None:
    survival, weights = two_regimes
    outlook = of(survival, weights)
    elapsed = TIMES[5]
    future = outlook.future(elapsed, np.full(3, np.inf), NOBODY_GONE)
    likelihood = weights[0] * survival[:, 0, 5] ** 3
    odds = likelihood / likelihood.sum()
    by_hand = 3 * (1 - (odds[:, None] * survival[:, 0, 6:] / survival[:, 0, 5:6]).sum(axis=0))
    np.testing.assert_allclose(future.arrivals, by_hand, rtol=1e-9)


def test_an_early_arrival_speaks_for_the_fast_scenario(two_regimes: tuple[np.ndarray, np.ndarray]) -> None:
    survival, weights = two_regimes
    outlook = of(survival, weights)
    silent = outlook.future(TIMES[1], np.full(3, np.inf), NOBODY_GONE)
    news = outlook.future(TIMES[1], np.array([0.3, np.inf, np.inf]), NOBODY_GONE)
    assert news.arrivals[-1] / 2 > silent.arrivals[-1] / 3


def test_news_of_one_group_says_nothing_of_another() -> None:
    fast, slow = exponential(0.3, 0.3, 0.3), exponential(3.0, 3.0, 3.0)
    weights = np.array([[0.5, 0.5], [0.5, 0.5]])
    groups = np.array([0, 0, 1])
    outlook = of(np.stack([fast, slow]), weights, groups)
    only = np.array([True, True, False])
    silent = outlook.future(TIMES[2], np.full(3, np.inf), only)
    news = outlook.future(TIMES[2], np.array([0.3, 0.4, np.inf]), NOBODY_GONE)
    np.testing.assert_allclose(silent.arrivals, news.arrivals, rtol=1e-12)


def test_arrivals_waiting_and_variance_agree_with_simulation() -> None:
    rng = np.random.default_rng(1)
    survival = np.stack([exponential(0.4, 0.8, 0.6, 0.5), exponential(1.5, 2.0, 1.0, 2.5)])
    weights, groups = np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([0, 0, 1, 1])
    future = of(survival, weights, groups).future(
        0.0, np.full(4, np.inf), np.zeros(4, np.bool_), variance=True
    )
    times = simulated(survival, weights, groups, 200_000, rng)
    for k in (2, 6, 12):
        counts = (times <= TIMES[k]).sum(axis=1)
        assert future.arrivals[k] == pytest.approx(counts.mean(), abs=0.01)
        assert future.variance[k] == pytest.approx(counts.var(), abs=0.02)
        # Between grid times the probability is taken as linear, hence the tolerance.
        assert future.waiting[k] == pytest.approx(np.minimum(times.max(axis=1), TIMES[k]).mean(), rel=0.03)


def simulated(
    survival: np.ndarray, weights: np.ndarray, groups: np.ndarray, rounds: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw scenario per group, then each worker from its curve (linear between grid times)."""
    out = np.empty((rounds, len(groups)))
    for group, odds in enumerate(weights):
        scenario = rng.choice(len(odds), size=rounds, p=odds)
        for worker in np.flatnonzero(groups == group):
            level = rng.random(rounds)
            for s in range(len(odds)):
                curve = np.concatenate([[1.0], survival[s, worker]])[::-1]
                drawn = np.interp(level, curve, np.concatenate([[0.0], TIMES])[::-1], left=np.inf)
                out[:, worker] = np.where(scenario == s, drawn, out[:, worker])
    return out


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), elapsed=st.floats(0.0, 3.9))
def test_the_future_never_shrinks(seed: int, elapsed: float) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    survival = np.exp(-TIMES / rng.uniform(0.1, 3.0, (2, n, 1)))
    weights = rng.dirichlet([1.0, 1.0], size=2)
    arrivals = np.where(rng.random(n) < 0.5, rng.uniform(0.0, 1.0, n) * elapsed, np.inf)
    future = of(survival, weights, rng.integers(0, 2, n)).future(elapsed, arrivals, np.zeros(n, np.bool_))
    assert (np.diff(future.arrivals, prepend=0.0) >= -1e-9).all()
    assert (np.diff(future.waiting, prepend=0.0) >= -1e-12).all()
    assert (future.waiting <= future.times - elapsed + 1e-9).all()


def test_the_chance_of_new_work_ignores_old_work() -> None:
    fresh = exponential(1.0, 1.0, 1.0)[None]
    busy = np.ones_like(fresh)
    forecast = Forecast(np.arange(3), TIMES, busy, np.ones((1, 1)), np.zeros(3, np.int64), fresh=fresh)
    outlook = Outlook(forecast)
    assert outlook.chance(0, float(TIMES[4])) == pytest.approx(1 - fresh[0, 0, 4])
    assert outlook.chance(0, 0.01) == 0.0
