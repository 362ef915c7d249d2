"""The law of all workers: for a newcomer, and for where a worker may be after a jump."""

from __future__ import annotations

import numpy as np

from tailcut.forecast.trend.cells import blurred
from tailcut.forecast.trend.own import MOST_UNKNOWN, Tally, hazard
from tailcut.types import FloatArray


def law(tally: Tally, smooth: bool = True) -> FloatArray:
    """Return `(cells,)` the probability of each cell."""
    survival = np.cumprod(1.0 - np.minimum(hazard(tally, MOST_UNKNOWN), 1.0))
    out = -np.diff(survival, prepend=1.0)
    out[-1] += survival[-1]
    return blurred(out) if smooth else out
