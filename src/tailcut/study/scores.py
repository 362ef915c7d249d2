"""Scores of one forecast, once the run times of its round are known.

Every score takes a `Forecast` of n workers and their run times `(n,)` in the same order. From Python:

    >>> forecast = Forecast.independent(np.arange(2), np.array([1.0, 2.0]), np.array([0.5, 0.0]))
    >>> times, everybody = np.array([0.5, 1.5]), np.array([True, True])
    >>> round(log_score(forecast, times, everybody), 3)
    -0.837
    >>> randomised_pit(forecast, times, np.random.default_rng(0)).shape
    (2,)

`forecast_law.py` says how a forecast is read as a law; `sample_forecast` there draws from it.
"""

from __future__ import annotations

import numpy as np

from tailcut.study.forecast_law import log_likelihoods, marginal_survival, sample_forecast
from tailcut.types import BoolArray, FloatArray, Forecast, Seconds

POSITIONS = 16
"""Order statistics scored in each round: c = n/16, 2n/16, …, n, rounded up."""
SAMPLES = 64
"""Joint draws from which the score of the order statistics is computed."""
BINS = 20
"""Number of bins in the PIT histogram."""


def log_score(forecast: Forecast, seconds: FloatArray, observed: BoolArray) -> float:
    """The joint log score in nats per worker; higher is better.

    Σ over groups of log Σ over scenarios of odds · Π over the group's workers of (density per log-second where
    observed, survival where cut), over n. Single factors are floored at `forecast_law.FLOOR`.

    Args:
        forecast: forecast for n workers.
        seconds: `(n,)` the run time where observed, otherwise a value it is known to exceed; NaN where nothing
            at all is known of a worker, which is then left out.
        observed: `(n,)` whether the run time itself was seen.
    """
    known = np.isfinite(seconds)
    if not known.any():
        return float("nan")
    terms = log_likelihoods(forecast, np.where(known, seconds, forecast.times[-1]), observed)
    terms = np.where(known, terms, 0.0)
    groups, scenarios = forecast.weights.shape
    with np.errstate(divide="ignore"):
        joint = np.log(forecast.weights)
    for scenario in range(scenarios):
        joint[:, scenario] += np.bincount(forecast.groups, weights=terms[scenario], minlength=groups)
    top = joint.max(axis=1)
    total = top + np.log(np.exp(joint - top[:, None]).sum(axis=1))
    occupied = np.bincount(forecast.groups, minlength=groups) > 0
    return float(total[occupied].sum() / known.sum())


def order_scores(
    forecast: Forecast, arrivals: FloatArray, horizon: Seconds, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """CRPS in seconds of some order statistics, and those order statistics themselves; lower is better.

    Times beyond `horizon` count as the horizon, in draws and in truth: otherwise an infinite tail would
    decide the score. A horizon that does not depend on the forecast keeps the score proper.

    Args:
        forecast: forecast for n workers.
        arrivals: `(n,)` true run times, infinite where none ever comes.
        horizon: seconds.
        rng: draws the samples.

    Returns:
        `(POSITIONS,)` scores and `(POSITIONS,)` true values.
    """
    n = len(arrivals)
    places = -(-np.arange(1, POSITIONS + 1) * n // POSITIONS) - 1
    truth = np.minimum(np.sort(arrivals)[places], horizon)
    draws = np.sort(sample_forecast(forecast, SAMPLES, rng), axis=1)[:, places]
    return sample_crps(np.minimum(draws, horizon), truth), truth


def sample_crps(draws: FloatArray, truth: FloatArray) -> FloatArray:
    """`(k,)` E|X − y| − ½·E|X − X′| from draws `(size, k)`, without the bias of a finite sample."""
    size = len(draws)
    miss = np.abs(draws - truth).mean(axis=0)
    # Sorted, Σ over pairs of |X − X′| is Σ of (2i − size − 1)·x_(i).
    rank = 2.0 * np.arange(1, size + 1) - size - 1
    apart = (rank[:, None] * np.sort(draws, axis=0)).sum(axis=0) * (2.0 / (size * (size - 1)))
    score: FloatArray = miss - 0.5 * apart
    return score


def close_crps(forecast: Forecast, arrivals: FloatArray, close: Seconds) -> FloatArray:
    """Return `(n,)` ∫ from 0 to the close of (F_i(s) − 1{x_i ≤ s})² ds over the close; lower is better.

    The threshold-weighted CRPS of each worker's own law, exact from the curves. What a forecast says of times after
    the close does not matter: no decision of that round depended on it.

    Args:
        forecast: forecast for n workers.
        arrivals: `(n,)` true run times, infinite where none ever comes.
        close: seconds from the opening to the close of the round, > 0.
    """
    survival = marginal_survival(forecast)
    until = np.minimum(arrivals, close)
    knots = np.concatenate([[0.0], forecast.times])
    curve = np.concatenate([np.ones((len(survival), 1)), survival], axis=1)
    whole = np.full(len(arrivals), close)
    early = _squared(knots, 1.0 - curve, until, arrived=True)
    late = _squared(knots, curve, whole, arrived=False) - _squared(knots, curve, until, arrived=False)
    score: FloatArray = (early + late) / close
    return score


def randomised_pit(forecast: Forecast, seconds: FloatArray, rng: np.random.Generator) -> FloatArray:
    """`(n,)` F(x−) + V·(F(x) − F(x−)) over the grid cell of each run time, V uniform: uniform if F is right.

    Within a cell, and after the last time, a forecast says no more than the probability of the cell: what is
    drawn there says nothing for or against it. Equal run times and point masses are treated alike.

    Args:
        forecast: forecast for n workers.
        seconds: `(n,)` true run times.
        rng: draws V.
    """
    survival = marginal_survival(forecast)
    cell = np.searchsorted(forecast.times, seconds)
    who, last = np.arange(len(seconds)), len(forecast.times) - 1
    before = np.where(cell > 0, survival[who, np.maximum(cell - 1, 0)], 1.0)
    after = np.where(cell <= last, survival[who, np.minimum(cell, last)], 0.0)
    pit: FloatArray = 1.0 - before + rng.random(len(seconds)) * (before - after)
    return pit


def within(pit: FloatArray, level: float) -> BoolArray:
    """Return which values lie in the central interval that should hold a share `level` of them."""
    inside: BoolArray = np.abs(pit - 0.5) <= 0.5 * level
    return inside


def histogram(pit: FloatArray) -> FloatArray:
    """Return `(BINS,)` the number of values that fall into each bin of equal width."""
    return np.bincount(np.minimum((pit * BINS).astype(np.int64), BINS - 1), minlength=BINS).astype(np.float64)


def _squared(knots: FloatArray, curve: FloatArray, until: FloatArray, *, arrived: bool) -> FloatArray:
    """Return `(n,)` ∫ from 0 to `until` of curve², exactly.

    Args:
        knots: `(k,)` increasing seconds, the first one 0.
        curve: `(n, k)` values at the knots, linear between them.
        until: `(n,)` seconds.
        arrived: whether the curve is the probability of having arrived or, if not, survival: after the last knot
            survival S becomes S·T/t.
    """
    left, right = curve[:, :-1], curve[:, 1:]
    pieces = np.diff(knots) * (left * left + left * right + right * right) / 3.0
    reached = np.concatenate([np.zeros((len(curve), 1)), np.cumsum(pieces, axis=1)], axis=1)
    who, end = np.arange(len(until)), knots[-1]
    cell = np.clip(np.searchsorted(knots, until) - 1, 0, len(knots) - 2)
    inside = np.minimum(until, end) - knots[cell]
    a = curve[who, cell]
    b = a + (curve[who, cell + 1] - a) * inside / (knots[cell + 1] - knots[cell])
    area = reached[who, cell] + inside * (a * a + a * b + b * b) / 3.0
    beyond = np.maximum(until, end)
    out = 1.0 - curve[:, -1] if arrived else curve[:, -1]
    squared = out * out * end * (1.0 - end / beyond)
    if arrived:
        # (1 − S)² = 1 − 2·S + S².
        squared += beyond - end - 2.0 * out * end * np.log(beyond / end)
    total: FloatArray = area + squared
    return total
