"""Normal log run times with rare spikes: the survival curve, tabulated once and looked up quickly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tailcut.clusters.laws import LEVELS
from tailcut.types import FloatArray

_PER_SD = 32
_WIDTH = 8.0


@dataclass(frozen=True, slots=True, eq=False)
class SpikedCurve:
    """P(z > v) of a centred log run time: a table on an even grid and, beyond it, the spikes alone.

    Attributes:
        start: the first grid point.
        step: distance between grid points.
        core: `(points,)` survival less its last value.
        slopes: `(points,)` difference to the next value, 0 at the end.
        rest: survival at the last grid point.
        alpha: exponential rate at which survival falls beyond that point.
    """

    start: float
    step: float
    core: FloatArray
    slopes: FloatArray
    rest: float
    alpha: float

    @property
    def end(self) -> float:
        """The last grid point."""
        return self.start + self.step * (len(self.core) - 1)

    def at(self, z: FloatArray) -> FloatArray:
        """Survival at `z`, linear between grid points; off by less than 5e-5."""
        place = np.clip((z - self.start) * (1 / self.step), 0.0, float(len(self.core) - 1))
        left = place.astype(np.int32)
        place -= left
        place *= self.slopes[left]
        place += self.core[left]
        # Up to the end of the grid this adds the constant that the core lacks.
        place += self.rest * np.exp(-self.alpha * np.maximum(z - self.end, 0.0))
        return place

    def landmarks(self) -> FloatArray:
        """`(256,)` quantiles of the log run time."""
        points = self.start + self.step * np.arange(len(self.core))
        inside: FloatArray = np.interp(LEVELS, 1 - self.rest - self.core, points)
        if self.rest == 0:
            return inside
        return inside + np.maximum(np.log(self.rest / (1 - LEVELS)), 0.0) / self.alpha


@lru_cache(maxsize=64)
def spiked_curve(sd: float, p_spike: float, alpha: float) -> SpikedCurve:
    """The curve of log x = sd·Z, plus, with probability `p_spike`, the logarithm of a Pareto factor >= 1.

    The factor exceeds f with probability f^-alpha, so its logarithm E is exponential with rate alpha, and
    normal plus exponential has a closed form:

        P(sd·Z + E > z) = Φ(-z/sd) + exp(-alpha·z + (alpha·sd)²/2)·Φ(z/sd - alpha·sd)

    From 8·sd + alpha·sd² on both Φ are constant to the last bit, and the curve is a plain exponential.
    """
    from scipy.special import log_ndtr, ndtr

    reach = 2 * _WIDTH + (alpha * sd if p_spike > 0 else 0.0)
    start, step = -_WIDTH * sd, sd / _PER_SD
    z = start + step * np.arange(math.ceil(reach * _PER_SD) + 1)
    # In logarithms, because the exponential alone overflows where Φ vanishes.
    spike = np.exp(-alpha * z + (alpha * sd) ** 2 / 2 + log_ndtr(z / sd - alpha * sd))
    values = ndtr(-z / sd) + p_spike * spike
    values[0] = 1.0
    rest = float(values[-1])
    return SpikedCurve(start, step, values - rest, np.append(np.diff(values), 0.0), rest, alpha)
