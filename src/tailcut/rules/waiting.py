"""Estimate how long a round waits for its k-th gradient, by least squares under monotonicity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailcut.types import Fate, FloatArray, RoundRecord


@dataclass(frozen=True, slots=True, eq=False)
class Waits:
    """The arrival times of the last rounds, oldest first.

    Attributes:
        rows: for each round, the seconds from its opening to each arrival, increasing.
        before: for each round, the number of gradients that the round before it took.
        last: number of gradients that the last round took, 0 before the first.
    """

    rows: tuple[FloatArray, ...] = ()
    before: tuple[int, ...] = ()
    last: int = 0


def after(waits: Waits, record: RoundRecord, window: int) -> Waits:
    """Return the arrival times with one more round, the last `window` of them."""
    row = arrival_times(record)
    if not len(row):
        return Waits(waits.rows, waits.before, record.count)
    # In the first round no worker is late from one before, as if that had waited for all.
    rows, before = (*waits.rows, row), (*waits.before, waits.last or len(record.roster))
    return Waits(rows[-window:], before[-window:], record.count)


def expected(waits: Waits, n: int, before: int | None) -> FloatArray | None:
    """Return T(h, k), the expected seconds until each of n workers' gradients is in.

    Waiting for more gradients takes longer. Where late workers finish, having waited for more in the round
    before leaves fewer of them busy, so waiting takes less. The result is the least-squares fit to the rounds
    under both constraints: rows that were sorted and then averaged increase in k already, and projecting each
    column to decrease in h keeps them so.

    Args:
        waits: the arrival times of the last rounds.
        n: number of workers.
        before: h, the number of gradients that the last round took; None where late work is abandoned.

    Returns:
        `(n,)` never decreasing, for k = 1..n; None before the first round.
    """
    if not waits.rows:
        return None
    rows = np.stack([_told(row, n) for row in waits.rows])
    if before is None:
        mean: FloatArray = rows.mean(axis=0)
        return mean
    levels, group, rounds = np.unique(np.array(waits.before), return_inverse=True, return_counts=True)
    totals = np.zeros((len(levels), n))
    np.add.at(totals, group, rows)
    fitted = -increasing(-totals / rounds[:, None], rounds.astype(float))
    # A number never waited for before lies between its neighbors.
    above = min(int(np.searchsorted(levels, before)), len(levels) - 1)
    below = max(above - 1, 0) if levels[above] > before else above
    gap = float(levels[above] - levels[below])
    part = (before - float(levels[below])) / gap if gap else 0.0
    between: FloatArray = fitted[below] + (fitted[above] - fitted[below]) * part
    return between


def increasing(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the isotonic regression: never decreasing columns, nearest to `values` in weighted squares.

    The i-th is max over a ≤ i of min over b ≥ i of the mean from a to b; all columns at once.

    Args:
        values: `(rows, columns)`.
        weights: `(rows,)` of each row, > 0.

    Example:
        >>> increasing(np.array([[1.0], [3.0], [2.0]]), np.ones(3)).ravel().tolist()
        [1.0, 2.5, 2.5]
    """
    size = len(values)
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(weights[:, None] * values, axis=0)])
    total = np.concatenate([[0.0], np.cumsum(weights)])
    first, last = np.tril_indices(size)[::-1]
    means = np.full((size, size, values.shape[1]), np.inf)
    means[first, last] = (sums[last + 1] - sums[first]) / (total[last + 1] - total[first])[:, None]
    least = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    least[last[first < last], first[first < last]] = -np.inf
    fitted: FloatArray = least.max(axis=0)
    return fitted


def arrival_times(record: RoundRecord) -> FloatArray:
    """Return the seconds from opening until each gradient came, or at the earliest would have; increasing.

    A worker that was out at the close would have come after it: at its run time where it started with the
    round; where it was still busy with an older round, no sooner than its run time after the close. Workers
    that left do not count.
    """
    workers, seen = record.roster.workers, record.run_times
    order = np.argsort(seen.workers)
    place = np.minimum(np.searchsorted(seen.workers[order], workers), max(len(seen) - 1, 0))
    seconds = np.zeros(len(workers))
    if len(seen):
        known = seen.workers[order][place] == workers
        seconds = np.where(known, seen.seconds[order][place], 0.0)
    came = np.isfinite(record.arrivals)
    late = np.maximum(seconds, record.elapsed)
    late = np.where(record.fates == Fate.UNSTARTED, record.elapsed + seconds, late)
    late = np.where(record.fates == Fate.REJECTED, seconds, late)
    times = np.where(came, record.arrivals, late)
    return np.sort(times[came | (record.fates != Fate.LOST)])


def _told(row: FloatArray, n: int) -> FloatArray:
    """Return a round's arrival times interpolated for n workers, at the same shares of them."""
    if len(row) == n:
        return row
    return np.interp((np.arange(n) + 0.5) / n, (np.arange(len(row)) + 0.5) / len(row), row)
