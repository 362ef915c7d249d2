"""Weight the variants of the forecast by their threshold-weighted score up to the close, not by log score.

The score of a distribution function F for a run time x, in a round that closed at τ, is

    twCRPS = ∫₀^τ w(s)·(F(s) − 1{x ≤ s})² ds,

exact for cut workers too, whose indicator is 0 all the way. It is quadratic in F: the score of a blend Σ_v b_v·F_v is
bᵀQb with Q_uv = ∫ w·(F_u − 1{x ≤ s})·(F_v − 1{x ≤ s}) ds, and the best weights solve a quadratic program with
as many unknowns as there are variants. The weight w(s) = 1 / p(1 − p), p the share expected by s, makes
errors in the tail count as much as errors in the middle, relative to what chance alone does there.

Q is the mean over workers plus the same for the number of arrivals, Σ_i F_i(s) against N(s): errors of single workers
that cancel cost a rule little, errors that add up cost it much. A log score would fall for a variant that bets on exact
repetition; this one asks how far off the curves are, where it matters.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from tailcut.forecast.trend.cells import COUNT, PER_OCTAVE
from tailcut.types import BoolArray, FloatArray

WIDTH = np.exp2(np.arange(COUNT) / PER_OCTAVE) * (2.0 ** (1.0 / PER_OCTAVE) - 1.0)
"""Width of each cell, in the lower end of the first."""
LEAST_WEIGHT = 0.1
"""Weight below which a variant is left out: a little of a wrong law does more harm to a tail than good to a score."""


def cross_scores(
    laws: FloatArray, position: FloatArray, observed: BoolArray, close: FloatArray
) -> FloatArray:
    """Return `(variants, variants)` the matrix Q of one round, scaled to a trace of 1.

    Args:
        laws: `(variants, n, cells)` probability of each cell.
        position: `(n,)` where each run time lies, or the bound it exceeds, in cells.
        observed: `(n,)` which of the two.
        close: `(n,)` where the close lies for each worker, in cells.
    """
    last = min(int(close.max()) + 1, COUNT)
    # At the middle of each cell, as the indicator below is.
    reached = np.cumsum(laws[:, :, :last], axis=2)
    reached -= 0.5 * laws[:, :, :last]
    share = reached.mean(axis=(0, 1))
    weight = WIDTH[:last] / (share * (1.0 - share) + 0.5 / len(position))
    cells = np.arange(last) + 0.5
    until = weight * (cells[None, :] < close[:, None])
    until /= np.maximum(until.sum(axis=1, keepdims=True), 1e-300)
    reached -= (cells[None, :] >= position[:, None]) & observed[:, None]
    reached *= np.sqrt(until / len(position))
    single = reached.reshape(len(laws), -1)
    together = reached.sum(axis=1)
    cross: FloatArray = single @ single.T + together @ together.T
    cross /= max(float(np.trace(cross)), 1e-300)
    return cross


def best_weights(cross: FloatArray, doubt: float) -> FloatArray:
    """Return the weights ≥ 0 that sum to 1 and minimize bᵀQb.

    `doubt`, a share of Q's mean diagonal, pulls the weights towards equal ones.

    The result is exact: the minimum over a subset of variants is a linear system, and the best feasible
    subset is taken.
    """
    size = len(cross)
    matrix = cross + np.eye(size) * (doubt * np.trace(cross) / size + 1e-15)
    best, least = np.full(size, 1.0 / size), np.inf
    for count in range(1, size + 1):
        for subset in combinations(range(size), count):
            inside = list(subset)
            solved = np.linalg.solve(matrix[np.ix_(inside, inside)], np.ones(count))
            if (solved < 0.0).any() or not solved.sum() > 0.0:
                continue
            weights = np.zeros(size)
            weights[inside] = solved / solved.sum()
            score = float(weights @ matrix @ weights)
            if score < least:
                best, least = weights, score
    best[best < LEAST_WEIGHT] = 0.0
    out: FloatArray = best / best.sum()
    return out


def blended(weights: FloatArray, laws: FloatArray) -> FloatArray:
    """Return `(n, cells)` the weighted mean of `(variants, n, cells)` laws."""
    used = np.flatnonzero(weights)
    out: FloatArray = weights[used[0]] * laws[used[0]]
    for variant in used[1:].tolist():
        out += weights[variant] * laws[variant]
    return out
