"""Pure functions on run times: order statistics, value-per-time curves and time grids.

Two companions are reachable from here too: `tailcut.counts` (order statistics of a joint forecast) and
`tailcut.likelihood` (censored likelihood terms). Importing them needs numpy only.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from tailcut.counts import expected_count, expected_last, expected_order_statistics
from tailcut.likelihood import censored_log_likelihood, kaplan_meier
from tailcut.types import FloatArray, Seconds

__all__ = [
    "best_cutoff",
    "binomial_law",
    "blom",
    "censored_log_likelihood",
    "elfving",
    "exact_normal_scores",
    "exact_order_means",
    "expected_count",
    "expected_last",
    "expected_order_statistics",
    "kaplan_meier",
    "log_factorials",
    "normal_scores",
    "rate_curve",
    "safe_log",
    "time_grid",
]


def time_grid(values: FloatArray, size: int = 128) -> FloatArray:
    """Times at which to tabulate a law whose typical values are `values`.

    Half of the points follow the probability mass, so that a narrow body is resolved; half are spread evenly
    in the logarithm between the extremes, so that a long tail is covered too.

    Args:
        values: any number of positive seconds, for instance quantiles of the law, or a pooled sample.
        size: largest number of points; equal ones are merged.

    Returns:
        `(<= size,)` increasing seconds, from the smallest value to just above the largest.
    """
    flat = np.sort(values, axis=None)
    half = size // 2
    ranks = (np.arange(half) * ((len(flat) - 1) / max(half - 1, 1))).astype(np.int64)
    low, high = float(flat[0]), float(flat[-1]) * (1 + 2**-10)
    spread = low * (high / low) ** np.linspace(0.0, 1.0, size - half)
    spread[-1] = high
    grid: FloatArray = np.unique(np.concatenate([flat[ranks], spread]))
    return grid


# What c gradients per second are worth.


def rate_curve(values: FloatArray, times: FloatArray, overhead: Seconds = 0.0) -> FloatArray:
    """Value per second of closing at each cutoff, value(c) / (E[x_(c)] + overhead).

    Chen et al. (arXiv 1604.00981) weigh their number of backup workers in this way: what a cutoff yields
    against the expected order statistic it waits for. A cutoff that is never reached is worth 0.

    Args:
        values: `(c,)` what 1, 2, … gradients are worth.
        times: `(c,)` seconds until so many are in, may be infinite.
        overhead: seconds a round costs beside waiting.

    Returns:
        `(c,)` value per second.
    """
    rates: FloatArray = values / (times + overhead)
    return rates


def best_cutoff(values: FloatArray, times: FloatArray, overhead: Seconds = 0.0) -> int:
    """The cutoff, 1..c, of the highest rate; the smallest such cutoff on ties.

    Example:
        >>> best_cutoff(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.5, 9.0]))
        2
    """
    return int(np.argmax(rate_curve(values, times, overhead))) + 1


# Normal order statistics.


@lru_cache(maxsize=256)
def normal_scores(n: int, alpha: float) -> FloatArray:
    """Expected order statistics of n standard normal variables, Φ⁻¹((r − α) / (n − 2α + 1)) for r = 1..n.

    Args:
        n: number of variables, at least 1.
        alpha: Elfving's π/8, Blom's 3/8 or any other value below 1.

    Returns:
        `(n,)` increasing, read-only because it is shared between callers.
    """
    if n < 1:
        raise ValueError(f"The number of variables must be at least 1, but got {n=}.")
    if not alpha < 1:
        raise ValueError(f"Alpha must be below 1 for the first score to be finite, but got {alpha=}.")
    quantile = NormalDist().inv_cdf
    scores = np.array([quantile((r - alpha) / (n - 2 * alpha + 1)) for r in range(1, n + 1)])
    scores.flags.writeable = False
    return scores


def elfving(n: int) -> FloatArray:
    """`(n,)` normal scores with α = π/8 (Elfving 1947): within 0.008 for hundreds or thousands."""
    return normal_scores(n, math.pi / 8)


def blom(n: int) -> FloatArray:
    """`(n,)` normal scores with α = 3/8 (Blom 1958): better than Elfving's for about ten variables."""
    return normal_scores(n, 3 / 8)


@lru_cache(maxsize=32)
def exact_normal_scores(n: int) -> FloatArray:
    """Expected order statistics of n standard normal variables by quadrature, the reference for the formulas.

    E[z_(r)] = ∫ z · n!/((r−1)! (n−r)!) · Φ(z)^(r−1) · (1 − Φ(z))^(n−r) · φ(z) dz; the integrand is smooth and
    vanishes at both ends, so equally spaced points converge faster than any power of their distance.

    Returns:
        `(n,)` increasing, read-only.
    """
    from scipy.special import log_ndtr

    z = np.linspace(-10.0, 10.0, 2001)
    rank = np.arange(1, n + 1)[:, None]
    logs = log_factorials(n)
    log_density = (logs[n] - logs[rank - 1] - logs[n - rank]) - z**2 / 2 - math.log(2 * math.pi) / 2
    log_density += (rank - 1) * log_ndtr(z) + (n - rank) * log_ndtr(-z)
    scores: FloatArray = np.exp(log_density) @ z * (z[1] - z[0])
    scores.flags.writeable = False
    return scores


# Order statistics of independent, identically distributed run times.


def log_factorials(n: int) -> FloatArray:
    """`(n + 1,)` log k! for k = 0..n."""
    logs: FloatArray = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    return logs


def binomial_law(n: int, chances: FloatArray) -> FloatArray:
    """P(Bin(n, p) = k) for k = 0..n.

    Args:
        n: number of trials.
        chances: `(m,)` p, from 0 to 1 with both ends allowed.

    Returns:
        `(m, n + 1)`.
    """
    k, logs = np.arange(n + 1), log_factorials(n)
    log_hit, log_miss = safe_log(chances)[:, None], safe_log(1.0 - chances)[:, None]
    law: FloatArray = np.exp(logs[n] - logs[k] - logs[n - k] + k * log_hit + (n - k) * log_miss)
    return law


def safe_log(chances: FloatArray) -> FloatArray:
    """The logarithm, with a finite value for 0 whose exponential is 0 and whose product with 0 is 0."""
    return np.where(chances > 0, np.log(np.where(chances > 0, chances, 1.0)), -1e6)


def exact_order_means(times: FloatArray, survival: FloatArray, n: int) -> FloatArray:
    """E[x_(r)] for r = 1..n of n independent run times with one common law, exactly.

    P(x_(r) > t) = P(Bin(n, F(t)) < r) is integrated over the grid. F is linear between grid times, and the
    integral of P(Bin(n, p) < r) over p is E[min(Bin(n + 1, p), r)] / (n + 1).

    Args:
        times: `(times,)` seconds, increasing, > 0.
        survival: `(times,)` P(x > time), falling linearly from 1 at 0.
        n: number of run times.

    Returns:
        `(n,)` seconds, E[min(x_(r), last time)]: time beyond the grid is not counted.
    """
    arrived = np.concatenate([[0.0], 1.0 - survival])
    rise = np.diff(arrived)
    # Where F hardly rises the difference quotient loses its digits, and the middle value is as good.
    flat = rise < 1e-6
    at_least = np.cumsum(binomial_law(n + 1, arrived)[:, ::-1], axis=1)[:, n::-1]
    primitive = np.cumsum(at_least, axis=1)[:, :n] / (n + 1)
    below = np.diff(primitive, axis=0) / np.where(flat, 1.0, rise)[:, None]
    middle = (arrived[1:] + arrived[:-1])[flat] / 2
    below[flat] = np.cumsum(binomial_law(n, middle), axis=1)[:, :n]
    means: FloatArray = np.diff(times, prepend=0.0) @ below
    return means
