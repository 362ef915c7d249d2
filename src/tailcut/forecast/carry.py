"""Forecasts for workers still busy with an older round: the rest of old work comes before the new."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tailcut.types import FloatArray, Forecast

ATOMS = 16
"""Number of equally likely values that represent the old and the new work each; their sums are 256."""


def carry_over(forecast: Forecast, busy: FloatArray) -> Forecast:
    """Turn a forecast of fresh work into one of arrivals, given which workers are busy and since when.

    A worker that has spent b seconds on its old work arrives after R + x, where R is distributed as x - b given
    x > b, and the new x is independent of it given the scenario.

    Args:
        forecast: forecast of the run times of new work.
        busy: `(n,)` seconds already spent on old work at the opening, NaN where the worker is free.

    Returns:
        The same forecast with the busy workers' curves replaced, and its own curves kept as `fresh`.
    """
    late = np.flatnonzero(~np.isnan(busy))
    if len(late) == 0:
        return forecast
    times, curves = forecast.times, forecast.survival[:, late]
    spent = np.broadcast_to(busy[late], curves.shape[:2])
    levels = (np.arange(ATOMS) + 0.5) / ATOMS
    new = _time_at(times, curves, np.broadcast_to(1.0 - levels, (*curves.shape[:2], ATOMS)))
    reached = _survival_at(times, curves, spent)[:, :, None]
    old = _time_at(times, curves, reached * (1.0 - levels)) - spent[:, :, None]
    # Old work overdue beyond all expectation: its end is unknown, so it may never come.
    old = np.where(reached > 1e-12, np.maximum(old, 0.0), np.inf)
    survival = np.array(forecast.survival)
    survival[:, late] = _share_beyond(times, (old[:, :, :, None] + new[:, :, None, :]))
    return replace(forecast, survival=survival, order_means=None, fresh=forecast.survival)


def _survival_at(times: FloatArray, curves: FloatArray, seconds: FloatArray) -> FloatArray:
    """`(scenarios, w)` survival of each curve at its own moment, linear between grid times."""
    knots = np.concatenate([[0.0], times])
    padded = np.concatenate([np.ones((*curves.shape[:2], 1)), curves], axis=2)
    right = np.clip(np.searchsorted(knots, seconds), 1, len(times))
    part = np.clip((seconds - knots[right - 1]) / (knots[right] - knots[right - 1]), 0.0, 1.0)
    left_value = np.take_along_axis(padded, right[:, :, None] - 1, axis=2)[:, :, 0]
    right_value = np.take_along_axis(padded, right[:, :, None], axis=2)[:, :, 0]
    out: FloatArray = left_value + (right_value - left_value) * part
    return out


def _time_at(times: FloatArray, curves: FloatArray, levels: FloatArray) -> FloatArray:
    """Return `(scenarios, w, levels)` times at which each curve falls to its levels; infinite where it never does."""
    knots = np.concatenate([[0.0], times])
    padded = np.concatenate([np.ones((*curves.shape[:2], 1)), curves], axis=2)
    right = (padded[:, :, :, None] > levels[:, :, None, :]).sum(axis=2)
    inside = np.clip(right, 1, len(times))
    above = np.take_along_axis(padded, inside - 1, axis=2)
    below = np.take_along_axis(padded, inside, axis=2)
    part = np.divide(above - levels, above - below, out=np.ones_like(levels), where=above > below)
    moment = knots[inside - 1] + (knots[inside] - knots[inside - 1]) * np.clip(part, 0.0, 1.0)
    return np.where(right > len(times), np.inf, moment)


def _share_beyond(times: FloatArray, sums: FloatArray) -> FloatArray:
    """`(scenarios, w, times)` share of each curve's sums that exceed each grid time."""
    rows = sums.reshape(sums.shape[0] * sums.shape[1], -1)
    cells = np.searchsorted(times, rows)  # a sum in cell k is over all times before k
    width = len(times) + 1
    flat = (np.arange(len(rows))[:, None] * width + cells).ravel()
    counts = np.bincount(flat, minlength=len(rows) * width).reshape(len(rows), width)
    beyond = 1.0 - np.cumsum(counts, axis=1)[:, :-1] / rows.shape[1]
    out: FloatArray = beyond.reshape(*sums.shape[:2], len(times))
    return out
