"""Statistics of a few seeds: t intervals, paired sign-flip permutation tests, Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tailcut.types import FloatArray

LEVEL = 0.95
MAX_EXACT = 16
"""Most values whose signs are flipped in all ways, 65,536; of more values so many random flips are taken."""
ROUNDING = 1e-12
"""Sums that differ by no more than this part of all values together count as equal."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval from `low` to `high`; both are NaN where there is too little to tell."""

    low: float
    high: float


UNKNOWN = Interval(math.nan, math.nan)


def t_interval(values: FloatArray, level: float = LEVEL) -> Interval:
    """Return the interval of the mean, by Student's t.

    For normal values it is exact, however few they are.

    Args:
        values: `(seeds,)` finite.
        level: probability with which the interval should hold the mean.

    Returns:
        NaN at both ends for fewer than two values, since one seed does not show the spread.

    Example:
        >>> t_interval(np.array([2.0, 2.0, 2.0]))
        Interval(low=2.0, high=2.0)
    """
    from scipy.special import stdtrit

    if len(values) < 2:
        return UNKNOWN
    mean = float(values.mean())
    reach = float(stdtrit(len(values) - 1, (1.0 + level) / 2.0)) * _error(values)
    return Interval(mean - reach, mean + reach)


def t_test(values: FloatArray) -> float:
    """Return the chance of a mean as low as this, or lower, where the true mean is 0, by Student's t.

    Args:
        values: `(seeds,)`; ∞ shows that the mean is not low, −∞ counts as the lowest of the others.

    Returns:
        1 for fewer than two values.
    """
    from scipy.special import stdtr

    if len(values) < 2 or (values == math.inf).any():
        return 1.0
    values = tamed(values)
    mean, error = float(values.mean()), _error(values)
    if error == 0.0:
        return 0.0 if mean < 0.0 else 1.0
    return float(stdtr(len(values) - 1, mean / error))


def sign_flip_test(values: FloatArray) -> float:
    """Return the chance of a sum as low as this, or lower, where each value is as likely to have the other sign.

    The paired permutation test: where two arms are alike, swapping them on a seed turns the sign of the logarithm of
    their ratio. All 2^n ways are counted for up to 16 values, so that the chance is exact; of more, 65,536 random ones
    from a generator with a fixed seed.

    Args:
        values: `(seeds,)`; ∞ shows that the sum is not low, −∞ is lower than all others together.

    Returns:
        At least 2^-n; 1 where there are no values.

    Example:
        >>> sign_flip_test(np.array([-1.0, -2.0, -0.5]))
        0.125
    """
    if len(values) == 0 or (values == math.inf).any():
        return 1.0
    finite = np.where(np.isinf(values), 0.0, values)
    values = np.where(np.isinf(values), -2.0 * np.abs(finite).sum() - 1.0, finite)
    sizes, total = np.abs(values), float(values.sum())
    slack = ROUNDING * float(sizes.sum())
    if len(values) <= MAX_EXACT:
        signs = 1.0 - 2.0 * (np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1)
        return float((signs @ sizes <= total + slack).mean())
    draws = 2**MAX_EXACT
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (draws, len(values)))
    # The way that was seen counts as one of the draws: the chance is never understated.
    return float(((signs @ sizes <= total + slack).sum() + 1) / (draws + 1))


def tamed(values: FloatArray) -> FloatArray:
    """Return the values with infinite ones replaced by the most extreme finite one on their side of 0, at least 1 away.

    Example:
        >>> tamed(np.array([-np.inf, 0.5, -3.0])).tolist()
        [-3.0, 0.5, -3.0]
    """
    finite = values[np.isfinite(values)].tolist()
    return np.clip(values, min([-1.0, *finite]), max([1.0, *finite]))


def holm(chances: Sequence[float]) -> list[float]:
    """Return each chance corrected for how many were looked at (Holm 1979): the k-th smallest of m times m − k + 1.

    Where those below a level are called findings, the chance of any false one among them is at most that level.

    Example:
        >>> holm([0.01, 0.5, 0.02])
        [0.03, 0.5, 0.04]
    """
    order = sorted(range(len(chances)), key=lambda place: chances[place])
    out, most = [0.0] * len(chances), 0.0
    for rank, place in enumerate(order):
        most = max(most, min((len(chances) - rank) * chances[place], 1.0))
        out[place] = most
    return out


def _error(values: FloatArray) -> float:
    """The standard error of the mean; 0 where the values differ by rounding alone."""
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return error if error > ROUNDING * float(np.abs(values).max()) else 0.0
