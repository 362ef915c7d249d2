"""Intervals from a few seeds: the percentile bootstrap of a mean (Efron 1979)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailcut.types import FloatArray

LEVEL = 0.95
DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`; both NaN where there is too little to tell."""

    low: float
    high: float


UNKNOWN = Interval(float("nan"), float("nan"))


def mean_interval(
    values: FloatArray, generator: np.random.Generator, *, level: float = LEVEL, draws: int = DRAWS
) -> Interval:
    """Where the mean of many such values may lie.

    The seeds themselves are drawn anew, with replacement, so that ratios of paired runs keep their pairs: give their
    ratios. Of few values it says too little: the mean of five normal ones lies in it in 83 % of cases,
    of ten in 89 %, not in 95 %.

    Args:
        values: `(seeds,)`, 0 or more each; infinite ones make the means that hold them infinite.
        generator: of the draws.
        level: how often the interval should hold the mean.
        draws: how many.

    Returns:
        Nothing known for a single value: one seed does not tell how far seeds lie apart.

    Example:
        >>> mean_interval(np.array([2.0, 2.0, 2.0]), np.random.default_rng(0))
        Interval(low=2.0, high=2.0)
    """
    if len(values) < 2:
        return UNKNOWN
    picks = generator.integers(0, len(values), (draws, len(values)))
    means = np.sort(values[picks].mean(axis=1))
    # Order statistics, not between them: half way to infinity there is nothing.
    outside = int((1.0 - level) / 2.0 * draws)
    return Interval(float(means[outside]), float(means[draws - 1 - outside]))
