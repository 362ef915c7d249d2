"""Workers still busy with an older round: what remains of the old work comes before the new."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tailcut.types import FloatArray, Forecast


def carry_over(forecast: Forecast, busy: FloatArray) -> Forecast:
    """Make a forecast of fresh work one of arrivals, given who is busy and since when.

    A worker that has spent b seconds on its old work arrives after R + x, where R is distributed as x - b given
    x > b, and the new x is independent of it given the scenario.

    Args:
        forecast: of the run times of new work.
        busy: `(n,)` seconds already spent on old work at the opening, NaN where the worker is free.

    Returns:
        The same forecast with the busy workers' curves replaced.
    """
    late = np.flatnonzero(~np.isnan(busy))
    if len(late) == 0:
        return forecast
    times = forecast.times
    survival = np.array(forecast.survival)
    # Both steps read the curves between grid times, at places that depend on the grid alone.
    fresh_at = _Reader(times, np.subtract.outer(times, times))
    for worker in late:
        curves = survival[:, worker, :]
        spent = float(busy[worker])
        at_spent = _Reader(times, np.array([spent])).read(curves)
        left = _Reader(times, times + spent).read(curves) / np.maximum(at_spent, 1e-12)
        mass = -np.diff(np.minimum(left, 1.0), axis=1, prepend=1.0)
        survival[:, worker, :] = np.einsum("sk,sjk->sj", mass, fresh_at.read(curves)) + left[:, -1:]
    return replace(forecast, survival=np.clip(survival, 0.0, 1.0), order_means=None)


class _Reader:
    """Linear interpolation of survival curves at fixed places: 1 before time 0, flat after the last grid time."""

    def __init__(self, times: FloatArray, places: FloatArray) -> None:
        knots = np.concatenate([[0.0], times])
        self._right = np.clip(np.searchsorted(knots, places), 1, len(times))
        step = knots[self._right] - knots[self._right - 1]
        self._part = np.clip((places - knots[self._right - 1]) / step, 0.0, 1.0)

    def read(self, curves: FloatArray) -> FloatArray:
        """`(scenarios, times)` curves to `(scenarios, *places)` values."""
        padded = np.concatenate([np.ones((len(curves), 1)), curves], axis=1)
        out: FloatArray = padded[:, self._right - 1] * (1 - self._part) + padded[:, self._right] * self._part
        return out
