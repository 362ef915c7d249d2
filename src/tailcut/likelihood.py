"""Censored run times: what a closed round says about the workers that it did not wait for."""

from __future__ import annotations

import numpy as np

from tailcut.types import BoolArray, FloatArray


def censored_log_likelihood(log_density: FloatArray, log_survival: FloatArray, observed: BoolArray) -> float:
    """Σ_seen log f_i(x_i) + Σ_unseen log(1 − F_i(close)).

    The likelihood of a round that closed at its c-th arrival (type-II censoring) as well as of one that
    closed at a time. Terms that do not count may be anything, NaN included.

    Args:
        log_density: `(n,)` log f_i at the observed run time.
        log_survival: `(n,)` log(1 − F_i) at the value the run time is known to exceed.
        observed: `(n,)` whether the run time itself was seen.
    """
    return float(np.where(observed, log_density, log_survival).sum())


def kaplan_meier(
    seconds: FloatArray, observed: BoolArray, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """The product-limit estimate of survival from censored run times (Kaplan & Meier 1958).

    S(t) = Π over observed times u ≤ t of 1 − (weight that arrived at u) / (weight known to last until u).
    A run time censored at u counts as lasting beyond u: at equal times arrivals come before censorings.

    Args:
        seconds: `(m,)` the run time where observed, otherwise a value it is known to exceed.
        observed: `(m,)` whether the run time itself was seen.
        weights: `(m,)` how much each counts, ≥ 0; 1 each when left out.

    Returns:
        The distinct observed times `(k,)`, increasing, and the survival `(k,)` from each of them on. Survival
        does not reach 0 where the longest run time is censored; with nothing observed both arrays are empty.

    Example:
        >>> times, survival = kaplan_meier(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
        >>> times.tolist(), survival.round(3).tolist()
        ([1.0, 3.0], [0.667, 0.0])
    """
    mass = np.ones(len(seconds)) if weights is None else weights
    times, position = np.unique(seconds, return_inverse=True)
    here = np.bincount(position, weights=mass, minlength=len(times))
    arrived = np.bincount(position, weights=mass * observed, minlength=len(times))
    at_risk = np.cumsum(here[::-1])[::-1]
    seen = arrived > 0
    # Sums in another order may make the ratio exceed 1 by a rounding error.
    dying = np.minimum(arrived[seen] / at_risk[seen], 1.0)
    return times[seen], np.cumprod(1.0 - dying, dtype=np.float64)
