"""Forecasts made from laws: time grids, survival curves on them, and curves moved to another grid."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tailcut.clusters.laws import Law
from tailcut.clusters.lognormal import lognormal_survival
from tailcut.order import time_grid
from tailcut.types import FloatArray, Forecast, IntArray


def grid(values: FloatArray) -> FloatArray:
    """Times at which to tabulate laws whose typical values are `values`; they begin just before the smallest.

    A forecast falls linearly from 1 at 0 to its first time, so next to no mass may lie before that time.
    """
    return time_grid(np.append(values, values.min() * (1 - 2**-10)))


@lru_cache(maxsize=256)
def independent(laws: tuple[Law, ...]) -> Forecast:
    """Independent workers `0..n-1`, each with its own law. The arrays are shared and cannot be written to."""
    place = {law: k for k, law in enumerate(dict.fromkeys(laws))}
    times = grid(np.concatenate([law.landmarks() for law in place]))
    curves = np.stack([law.survival(times) for law in place])
    which = np.array([place[law] for law in laws])
    rows = curves[0] if len(place) == 1 else curves[which]
    return frozen(Forecast.independent(everyone(len(laws)), times, rows))


def lognormal(levels: FloatArray, sigma: float, landmarks: FloatArray) -> Forecast:
    """Independent workers whose log run times are normal around log(`levels`), `(n,)` seconds.

    Args:
        levels: `(n,)` medians, seconds.
        sigma: standard deviation of the logarithm.
        landmarks: quantiles of a log-normal with median 1 and this sigma.
    """
    times = grid(np.multiply.outer(spread(levels), landmarks).ravel())
    return Forecast.independent(
        everyone(len(levels)), times, lognormal_survival(times, np.log(levels)[:, None], sigma)
    )


def spread(values: FloatArray, size: int = 32) -> FloatArray:
    """Return at most `size` values, evenly spaced by rank, with both extremes: enough to place a grid."""
    ordered = np.sort(values)
    if len(ordered) <= size:
        return ordered
    kept: FloatArray = ordered[np.linspace(0, len(ordered) - 1, size).astype(np.int64)]
    return kept


def interpolate(forecast: Forecast, times: FloatArray) -> FloatArray:
    """`(scenarios, n, len(times))` the forecast's survival curves at other times.

    Curves are linear between grid points and from 1 at 0, and stay level after the last time.
    """
    knots = np.concatenate([[0.0], forecast.times])
    curves = np.concatenate([np.ones((*forecast.survival.shape[:2], 1)), forecast.survival], axis=2)
    right = np.clip(np.searchsorted(knots, times), 1, len(knots) - 1)
    share = np.clip((times - knots[right - 1]) / (knots[right] - knots[right - 1]), 0.0, 1.0)
    moved: FloatArray = curves[:, :, right - 1] * (1 - share) + curves[:, :, right] * share
    return moved


def without(forecast: Forecast, worker: int) -> Forecast:
    """Return the forecast without one worker; groups left empty disappear."""
    keep = forecast.workers != worker
    used, groups = np.unique(forecast.groups[keep], return_inverse=True)
    return Forecast(
        forecast.workers[keep], forecast.times, forecast.survival[:, keep], forecast.weights[used], groups
    )


def frozen(forecast: Forecast) -> Forecast:
    """Make the arrays of a forecast read-only, so that it can be shared, and return it."""
    for array in (forecast.workers, forecast.times, forecast.survival, forecast.weights, forecast.groups):
        array.setflags(write=False)
    return forecast


def everyone(n: int) -> IntArray:
    """`(n,)` worker ids `0..n-1`."""
    return np.arange(n, dtype=np.int64)


def rounds_column(rounds: int) -> FloatArray:
    """`(rounds, 1)` the number of the round each row of a hidden state precedes: 0, 1, …."""
    return np.arange(rounds, dtype=np.float64)[:, None]
