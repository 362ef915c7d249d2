"""One forecast read as a joint law of run times: densities, survival, cells and samples of it.

Survival is linear between grid times and from 1 at 0, as `Forecast` says. Run times beyond the last time T
may be infinite; to be scored and drawn from they need a law: S(t) = S(T)·T/t, a Pareto tail of index 1.
"""

from __future__ import annotations

import numpy as np

from tailcut.types import BoolArray, FloatArray, Forecast, IntArray

FLOOR = 1e-6
"""Least density per log-second, and survival, in scores: one surprise must not decide a whole run."""
BLOCK = 1 << 22
"""Curve values held at once when drawing samples: 32 MiB."""


def log_likelihoods(forecast: Forecast, seconds: FloatArray, observed: BoolArray) -> FloatArray:
    """`(scenarios, n)` log density per log-second where observed, otherwise log survival; floored at log `FLOOR`.

    A density per log-second, x·f(x), has no unit: scores do not change when seconds become milliseconds.

    Args:
        forecast: forecast for n workers.
        seconds: `(n,)` the run time where observed, otherwise a value it is known to exceed; > 0.
        observed: `(n,)` whether the run time itself was seen.
    """
    last = forecast.times[-1]
    cell, low, high, left, right = _cells(forecast, seconds)
    beyond = cell == len(forecast.times)
    width = np.where(beyond, 1.0, high - low)
    tail = forecast.survival[:, :, -1] * (last / np.maximum(seconds, last))
    density = np.where(beyond, tail, (left - right) * (seconds / width))
    survival = np.where(beyond, tail, left + (right - left) * ((seconds - low) / width))
    scored: FloatArray = np.log(np.maximum(np.where(observed, density, survival), FLOOR))
    return scored


def marginal_survival(forecast: Forecast) -> FloatArray:
    """`(n, times)` each worker's own survival curve, scenarios weighted by their odds."""
    if len(forecast.survival) == 1:
        alone: FloatArray = forecast.survival[0]
        return alone
    odds = forecast.weights[forecast.groups]
    mixed: FloatArray = odds[:, 0, None] * forecast.survival[0]
    for scenario in range(1, len(forecast.survival)):
        mixed += odds[:, scenario, None] * forecast.survival[scenario]
    return mixed


def sample_forecast(forecast: Forecast, size: int, rng: np.random.Generator) -> FloatArray:
    """`(size, n)` joint draws in seconds: a scenario for each group, then each worker by inverse transform.

    Example:
        >>> curve = np.array([0.5, 0.0])
        >>> law = Forecast.independent(np.arange(3), np.array([1.0, 2.0]), curve)
        >>> sample_forecast(law, 4, np.random.default_rng(0)).shape
        (4, 3)
    """
    scenarios, n, grid = forecast.survival.shape
    chosen = _scenarios(forecast.weights, size, rng)[:, forecast.groups]
    uniform = 1.0 - rng.random((size, n))  # Survival at the draw: in (0, 1].
    drawn = np.empty((size, n))
    per_block = max(1, BLOCK // (scenarios * grid))
    for first in range(0, n, per_block):
        part = slice(first, first + per_block)
        drawn[:, part] = _inverse(forecast, part, chosen[:, part], uniform[:, part])
    return drawn


def _cells(
    forecast: Forecast, seconds: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """The cell of each time, its ends `(n,)`, and survival at both ends `(scenarios, n)`.

    Cell k is (times[k-1], times[k]]; the one after the last time has no end, and its right end is arbitrary.
    """
    times = forecast.times
    cell = np.searchsorted(times, seconds).astype(np.int64)
    inside, before = np.minimum(cell, len(times) - 1), np.maximum(cell - 1, 0)
    who = np.arange(len(seconds))
    low = np.where(cell > 0, times[before], 0.0)
    left = np.where(cell > 0, forecast.survival[:, who, before], 1.0)
    return cell, low, times[inside], left, forecast.survival[:, who, inside]


def _scenarios(weights: FloatArray, size: int, rng: np.random.Generator) -> IntArray:
    """`(size, groups)` one scenario each, by its odds."""
    reached = np.cumsum(weights, axis=1)
    uniform = rng.random((size, len(weights))) * reached[:, -1]
    passed = (uniform[:, :, None] >= reached[None]).sum(axis=2)
    drawn: IntArray = np.minimum(passed, weights.shape[1] - 1).astype(np.int64)
    return drawn


def _inverse(forecast: Forecast, part: slice, chosen: IntArray, uniform: FloatArray) -> FloatArray:
    """Return the times at which the chosen curves fall to `uniform`, by one search through all curves."""
    curves = forecast.survival[:, part]
    scenarios, n, grid = curves.shape
    arrived = np.maximum.accumulate(1.0 - curves, axis=2)
    row = chosen * n + np.arange(n)
    # Curve r occupies the values 2r..2r+1, so that all of them together increase.
    lane = 2.0 * np.arange(scenarios * n)
    ladder = (arrived.reshape(scenarios * n, grid) + lane[:, None]).ravel()
    cell = np.searchsorted(ladder, (1.0 - uniform) + 2.0 * row) - row * grid
    cell = np.clip(cell, 0, grid)
    flat, inside, before = arrived.ravel(), np.minimum(cell, grid - 1), np.maximum(cell - 1, 0)
    left = np.where(cell > 0, flat[row * grid + before], 0.0)
    right = flat[row * grid + inside]
    low = np.where(cell > 0, forecast.times[before], 0.0)
    high = forecast.times[inside]
    share = np.clip((1.0 - uniform - left) / np.where(right > left, right - left, 1.0), 0.0, 1.0)
    # Beyond the last time S(t) = S(T)·T/t.
    tail = forecast.times[-1] * np.maximum((1.0 - flat[row * grid + grid - 1]) / uniform, 1.0)
    drawn: FloatArray = np.where(cell == grid, tail, low + (high - low) * share)
    return drawn
