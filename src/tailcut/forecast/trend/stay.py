"""Persistence: the next run time is near the last one; how often is learned from all workers together."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tailcut.forecast.trend.cells import COUNT, PER_OCTAVE
from tailcut.types import BoolArray, FloatArray, IntArray

WIDTHS = (0.012, 0.06, 0.18)
"""Standard deviations, in log seconds, of "near": a held value, a slow wander, the same regime."""
SOURCES = len(WIDTHS) + 1
"""Number of sources of the next run time: near the last one in each width, or the worker's own law."""
LEAST_WEIGHT = 0.02


@lru_cache(maxsize=1)
def kernels() -> FloatArray:
    """Return `(widths, cells, cells)`; row k: probability of each next cell after a run time in cell k."""
    cells = np.arange(COUNT)
    spread = np.array(WIDTHS)[:, None, None] / np.log(2.0) * PER_OCTAVE
    raw = np.exp(-0.5 * ((cells[None, :, None] - cells[None, None, :]) / spread) ** 2)
    out: FloatArray = raw / raw.sum(axis=2, keepdims=True)
    out.setflags(write=False)
    return out


@lru_cache(maxsize=1)
def kernel_tails() -> FloatArray:
    """Return `(widths, cells, cells)` the probability of that cell or a later one."""
    out: FloatArray = np.cumsum(kernels()[:, :, ::-1], axis=2)[:, :, ::-1].copy()
    out.setflags(write=False)
    return out


def predictive(weights: FloatArray, last_cell: IntArray, last_law: FloatArray, own: FloatArray) -> FloatArray:
    """Return `(rows, cells)` the laws of the next run times.

    Args:
        weights: `(SOURCES,)` weight of each source.
        last_cell: `(rows,)` cell of the last run time, −1 where it was censored, −2 where there was none.
        last_law: `(rows, cells)` law of a censored last run time, used as it is in every width.
        own: `(rows, cells)` each worker's own law.
    """
    near = np.zeros((COUNT, COUNT))
    for weight, kernel in zip(weights[:-1].tolist(), kernels(), strict=True):
        near += weight * kernel
    out: FloatArray = weights[-1] * own
    seen, censored, fresh = last_cell >= 0, last_cell == -1, last_cell == -2
    out[seen] += near[last_cell[seen]]
    out[censored] += (1.0 - weights[-1]) * last_law[censored]
    out[fresh] = own[fresh]
    return out


def updated_weights(
    weights: FloatArray,
    last_cell: IntArray,
    own: FloatArray,
    cell: IntArray,
    part: FloatArray,
    observed: BoolArray,
    rate: float,
) -> FloatArray:
    """Move the weights towards the mean responsibility of each source for what came (one step of online EM).

    Only workers whose last run time is known can tell the sources apart.
    """
    rows = np.flatnonzero(last_cell >= 0)
    if len(rows) == 0:
        return weights
    last, cell, part, observed = last_cell[rows], cell[rows], part[rows], observed[rows]
    own_tail = np.cumsum(own[rows][:, ::-1], axis=1)[:, ::-1]
    density = np.vstack([kernels()[:, last, cell], own[rows, cell]])
    tail = np.vstack([kernel_tails()[:, last, cell], own_tail[np.arange(len(rows)), cell]])
    likelihood = np.where(observed, density, tail - part * density) + 1e-6
    joint = weights[:, None] * likelihood
    share = (joint / joint.sum(axis=0)).mean(axis=1)
    moved = np.maximum(weights + (share - weights) * rate, LEAST_WEIGHT)
    out: FloatArray = moved / moved.sum()
    return out
