"""One common shape of law, placed at each worker's own level: for workers of which little else is known.

A worker's level, its median, is uncertain after a few rounds. Where the levels of workers differ no more than that
uncertainty explains, they are drawn together (James & Stein): equal workers share one law, different ones keep theirs.
"""

from __future__ import annotations

import numpy as np

from tailcut.forecast.trend import own as law_of
from tailcut.forecast.trend.belief import TrendBelief
from tailcut.forecast.trend.own import Tally
from tailcut.types import FloatArray, IntArray

MEDIAN_NOISE = np.pi / 2.0
"""Variance of a normal sample's median, in variances of its mean."""
SURELY = 1e-9
"""Smallest difference of probabilities that counts: rounding depends on the order of workers."""
NORMAL_IQR = 1.349
"""Distance of the quartiles of a normal law, in standard deviations."""


def shape_laws(base: TrendBelief, rows: IntArray) -> FloatArray:
    """Return `(rows, cells)` the law of all residuals at the levels of `drawn_together`."""
    hazards = law_of.placed(law_of.hazard(base.residuals, law_of.MOST_UNKNOWN), drawn_together(base)[rows])
    survival = np.cumprod(1.0 - np.minimum(hazards, 1.0), axis=1)
    out = -np.diff(survival, axis=1, prepend=1.0)
    out[:, -1] += survival[:, -1]
    return out


def drawn_together(base: TrendBelief) -> IntArray:
    """Return `(m,)` the levels in cells, drawn together as far as they are alike."""
    seen = (base.tally.events + base.tally.censored).sum(axis=1)
    noise = MEDIAN_NOISE * _spread(base.residuals) ** 2 / np.maximum(seen, 1.0)
    middle = float(np.median(base.levels))
    between = float(np.mean((base.levels - middle) ** 2))
    keep = max(0.0, 1.0 - float(noise.mean()) / max(between, 1e-9))
    out: IntArray = np.floor(middle + keep * (base.levels - middle) + 0.5 + SURELY).astype(np.int64)
    return out


def _spread(residuals: Tally) -> float:
    """Return the standard deviation of the residuals in cells, from their quartiles."""
    survival = np.cumprod(1.0 - np.minimum(law_of.hazard(residuals, law_of.MOST_UNKNOWN), 1.0))
    low, high = (int(np.count_nonzero(survival > left + SURELY)) for left in (0.75, 0.25))
    return max(high - low, 1) / NORMAL_IQR
