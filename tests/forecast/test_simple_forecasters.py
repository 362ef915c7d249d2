"""The simple forecasters and the carry-over of old work, against known truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from tailcut.errors import ParameterError
from tailcut.forecast import NoForecast, Normal, Recent, Truth, carry_over
from tailcut.forecast.normal import censored_normal
from tailcut.order import elfving
from tailcut.types import NO_NODE, Forecast, Roster, RunTimes


def times(seconds: np.ndarray, observed: np.ndarray | None = None) -> RunTimes:
    n = len(seconds)
    seen = np.ones(n, np.bool_) if observed is None else observed
    return RunTimes(np.arange(n), seconds, seen, np.full(n, NO_NODE))


def test_no_forecast_foresees_nothing() -> None:
    none = NoForecast()
    assert none.forecast(none.learn(none.start(), times(np.ones(3))), Roster.of(3)) is None  # type: ignore[func-returns-value]


def test_recent_is_the_empirical_distribution_of_the_window() -> None:
    rng = np.random.default_rng(0)
    rows = rng.exponential(size=(6, 40))
    recent = Recent(window=4)
    belief = recent.start()
    for row in rows:
        belief = recent.learn(belief, times(row))
    forecast = recent.forecast(belief, Roster.of(5))
    assert forecast is not None
    pool = rows[2:].ravel()
    expected = [(pool > t).mean() for t in forecast.times]
    np.testing.assert_allclose(forecast.survival[0, 0], expected, atol=1e-12)
    assert forecast.survival.shape[:2] == (1, 5)


def test_recent_takes_censored_times_by_kaplan_meier() -> None:
    rng = np.random.default_rng(1)
    row = rng.exponential(size=4000)
    observed = row < 1.0
    recent = Recent()
    forecast = recent.forecast(
        recent.learn(recent.start(), times(np.minimum(row, 1.0), observed)), Roster.of(2)
    )
    assert forecast is not None
    at = np.searchsorted(forecast.times, 0.7)
    assert forecast.survival[0, 0, at] == pytest.approx(np.exp(-forecast.times[at]), abs=0.03)


def test_recent_needs_something_seen() -> None:
    recent = Recent()
    assert recent.forecast(recent.start(), Roster.of(2)) is None
    only_cut = recent.learn(recent.start(), times(np.ones(2), np.zeros(2, np.bool_)))
    assert recent.forecast(only_cut, Roster.of(2)) is None


def test_normal_uses_recent_moments_and_elfvings_formula() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(10.0, 1.0, size=(20, 50))
    normal = Normal(window=20)
    belief = normal.start()
    for row in rows:
        belief = normal.learn(belief, times(row))
    forecast = normal.forecast(belief, Roster.of(50))
    assert forecast is not None
    assert forecast.order_means is not None
    np.testing.assert_allclose(forecast.order_means, rows.mean() + rows.std() * elfving(50), rtol=1e-12)
    expected = stats.norm.sf(forecast.times[1:], rows.mean(), rows.std())
    np.testing.assert_allclose(forecast.survival[0, 0, 1:], expected, atol=1e-9)
    assert forecast.survival[0, 0, 0] == 1.0


def test_no_arrival_is_expected_sooner_than_the_fastest_run_time_of_the_window() -> None:
    """A normal law of two modes reaches far below 0, where the formula promises arrivals before the start."""
    fast_and_slow = np.concatenate([np.linspace(1.0, 1.2, 20), np.linspace(9.0, 9.5, 20)])
    normal = Normal(window=2)
    belief = normal.learn(normal.start(), times(np.full(40, 0.1)))  # Forgotten: two rounds follow.
    for _ in range(2):
        belief = normal.learn(belief, times(fast_and_slow))
    forecast = normal.forecast(belief, Roster.of(40))
    assert forecast is not None
    assert forecast.order_means is not None
    plain = fast_and_slow.mean() + fast_and_slow.std() * elfving(40)
    assert plain.min() < 0
    np.testing.assert_allclose(forecast.order_means, np.maximum(plain, 1.0), rtol=1e-12)
    before = forecast.times < 1.0
    assert before.any()
    assert (forecast.survival[0, :, before] == 1.0).all()


def test_a_censored_time_is_no_fastest_run_time() -> None:
    """Two workers were cut after 0.5 s: nobody was seen to need as little."""
    normal = Normal()
    seconds = np.array([0.5, 0.5, 2.0, 2.2, 30.0])
    belief = normal.learn(normal.start(), times(seconds, np.array([False, False, True, True, True])))
    forecast = normal.forecast(belief, Roster.of(5))
    assert forecast is not None
    assert forecast.order_means is not None
    assert forecast.order_means.min() == 2.0


def test_the_censored_normal_fit_maximises_the_censored_likelihood() -> None:
    rng = np.random.default_rng(3)
    row = rng.normal(5.0, 1.0, size=500)
    observed = row < 5.5
    seconds = np.minimum(row, 5.5)

    def loss(parameters: np.ndarray) -> float:
        law = stats.norm(parameters[0], np.exp(parameters[1]))
        return -float(law.logpdf(seconds[observed]).sum() + law.logsf(seconds[~observed]).sum())

    best = optimize.minimize(loss, np.array([5.0, 0.0]), method="Nelder-Mead").x
    mean, sd = censored_normal(seconds, observed)
    assert (mean, sd) == (pytest.approx(best[0], abs=0.02), pytest.approx(np.exp(best[1]), rel=0.03))


def test_equal_run_times_are_no_trouble_for_a_normal() -> None:
    normal = Normal()
    forecast = normal.forecast(normal.learn(normal.start(), times(np.full(6, 2.0))), Roster.of(6))
    assert forecast is not None
    assert forecast.order_means == pytest.approx(np.full(6, 2.0), rel=0.01)


@pytest.mark.parametrize("maker", [Recent, Normal])
def test_a_window_of_nothing_is_refused(maker: type[Recent] | type[Normal]) -> None:
    with pytest.raises(ParameterError, match="window must be at least 1"):
        maker(window=0)


GRID = np.linspace(0.02, 6.0, 200)


def test_old_work_comes_before_new() -> None:
    """Uniform work on [0.8, 1.4]; one worker has spent 0.9 s, another is overdue, a third is free."""
    curve = 1 - np.clip((GRID - 0.8) / 0.6, 0.0, 1.0)
    forecast = Forecast.independent(np.arange(3), GRID, curve)
    busy = np.array([0.9, 2.0, np.nan])
    after = carry_over(forecast, busy)
    rng = np.random.default_rng(0)
    old, new = rng.uniform(0.9, 1.4, 200_000) - 0.9, rng.uniform(0.8, 1.4, 200_000)
    expected = np.array([(old + new > t).mean() for t in GRID])
    np.testing.assert_allclose(after.survival[0, 0], expected, atol=0.03)
    assert (after.survival[0, 1] == 1.0).all()
    np.testing.assert_array_equal(after.survival[0, 2], curve)
    assert after.fresh is not None
    np.testing.assert_array_equal(after.fresh[0, 0], curve)


def test_memoryless_work_takes_as_long_again() -> None:
    curve = np.exp(-GRID)
    after = carry_over(Forecast.independent(np.arange(1), GRID, curve), np.array([1.3]))
    gamma = (1 + GRID) * np.exp(-GRID)  # the sum of two exponentials
    np.testing.assert_allclose(after.survival[0, 0], gamma, atol=0.03)


def test_nobody_busy_changes_nothing() -> None:
    forecast = Forecast.independent(np.arange(2), GRID, np.exp(-GRID))
    assert carry_over(forecast, np.full(2, np.nan)) is forecast


def test_truth_follows_the_hidden_states_round_by_round() -> None:
    seen: list[float] = []

    def law(hidden: np.ndarray) -> Forecast:
        seen.append(float(hidden[0]))
        return Forecast.independent(np.arange(4), GRID, np.exp(-GRID))

    truth = Truth(law, np.arange(5.0)[:, None])
    belief = truth.start()
    for _ in range(3):
        truth.forecast(belief, Roster.of(4))
        belief = truth.learn(belief, times(np.ones(4)))
    assert seen == [0.0, 1.0, 2.0]
    some = Roster(np.array([1, 3]), np.full(2, NO_NODE), np.full(2, np.nan))
    assert truth.forecast(belief, some).workers.tolist() == [1, 3]
