"""The check that every forecast passes."""

from __future__ import annotations

import numpy as np

from tailcut.types import Forecast, IntArray

ROUNDING = 1e-9


def check_forecast(forecast: Forecast, workers: IntArray) -> None:
    """Fail an assertion unless `forecast` is a joint law of the run times of `workers`.

    Example:
        >>> times, survival = np.array([1.0, 2.0]), np.array([0.5, 0.0])
        >>> check_forecast(Forecast.independent(np.arange(3), times, survival), np.arange(3))
    """
    n = len(workers)
    assert forecast.workers.tolist() == workers.tolist(), "the law is about the workers that were asked for"
    times, survival = forecast.times, forecast.survival
    assert len(times) > 0
    assert np.isfinite(times).all()
    assert times[0] > 0.0, "run times are positive"
    assert (np.diff(times) > 0.0).all(), "times increase"
    scenarios = survival.shape[0]
    assert survival.shape == (scenarios, n, len(times))
    assert (survival >= 0.0).all()
    assert (survival <= 1.0 + ROUNDING).all(), "survival is a probability"
    assert (np.diff(survival, axis=2) <= ROUNDING).all(), "survival never increases in time"
    groups = forecast.weights.shape[0]
    assert forecast.weights.shape == (groups, scenarios)
    assert (forecast.weights >= -ROUNDING).all()
    assert np.allclose(forecast.weights.sum(axis=1), 1.0, rtol=0.0, atol=1e-9), "weights of a group sum to 1"
    assert forecast.groups.shape == (n,)
    assert ((forecast.groups >= 0) & (forecast.groups < groups)).all()
    if forecast.order_means is not None:
        assert forecast.order_means.shape == (n,)
        assert (forecast.order_means > 0.0).all()
        assert (np.diff(forecast.order_means) >= -ROUNDING * forecast.order_means[-1]).all()
