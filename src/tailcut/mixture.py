"""The law of the number of arrivals among many workers: a mixture of shifted binomials.

Given a combination of the groups' scenarios the count N(t) is Poisson-binomial. It is taken for a shifted
binomial with the same first three cumulants, which is the exact law of workers that are alike, with or
without others that are certain to be in. P(N(t) < c) depends on the law at t alone; so where there are too
many combinations, those of nearly the same mean count are merged, interval by interval of the time grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from tailcut.types import FloatArray, IntArray

Group: TypeAlias = tuple[FloatArray, FloatArray]
"""A group's `(scenarios,)` weights and `(scenarios, members, times)` survival."""

_MOST_COMPONENTS = 32
"""Combinations of scenarios that are kept apart; with more, those of similar mean count are merged."""
_LEAST_WEIGHT = 1e-5
"""Weight below which a component is left out of the integral."""
_BAND = 4.0
"""Standard deviations (and two arrivals more) beyond which a count is as good as impossible."""
_PIECE_VARIANCE = 0.25
"""Variance below which the pieces of an interval are not made any shorter."""
_LEAST_VARIANCE = 1e-9
_BLOCK = 1 << 14
"""Probabilities worked out at once: temporary arrays of this size stay in the processor's cache."""


def mixture_order_means(times: FloatArray, groups: list[Group]) -> tuple[FloatArray, FloatArray]:
    """Approximate E[min(x_(c), last time)] and P(N(last time) < c), both `(n,)`.

    Args:
        times: `(times,)` seconds, increasing, > 0.
        groups: at least one; n is the number of their members.
    """
    n = sum(survival.shape[1] for _, survival in groups)
    mixture = _total(groups, n)
    return _integrate(mixture, np.diff(times, prepend=0.0), n), _missed_at_end(mixture, n)


def subdivide(lengths: FloatArray, pieces: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Cut each interval into equal pieces.

    Returns:
        Of each piece: the interval it lies in, its start relative to that interval (0 to 1), and its length.
    """
    interval = np.repeat(np.arange(len(lengths)), pieces)
    rank = np.arange(len(interval)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return interval, rank / pieces[interval], (lengths / pieces)[interval]


@dataclass(frozen=True, slots=True, eq=False)
class _Mixture:
    """The law of a count within each interval of the time grid.

    Attributes:
        weights: `(components, intervals)`, sum to 1 over components.
        cumulants: `(2, 3, components, intervals)` mean, variance and third cumulant of each component at the
            start and at the end of the interval.
    """

    weights: FloatArray
    cumulants: FloatArray

    def plus(self, other: _Mixture) -> _Mixture:
        """The law of the sum with an independent count: cumulants add up for each pair of components."""
        size = self.weights.shape[1]
        weights = self.weights[:, None] * other.weights
        cumulants = self.cumulants[:, :, :, None] + other.cumulants[:, :, None]
        return _Mixture(weights.reshape(-1, size), cumulants.reshape(2, 3, -1, size))

    def merged(self, width: float) -> _Mixture:
        """Merge components whose means round to the same multiple of `width`, keeping the cumulants."""
        label = np.rint(self.cumulants[:, 0].sum(axis=0) / (2 * width)).astype(np.int64)
        bins, size = int(label.max()) + 1, label.shape[1]
        if bins >= len(label):
            return self
        cell = (label * size + np.arange(size)).ravel()
        weights = _sums(cell, self.weights.ravel(), bins * size)
        share = self.weights.ravel() / np.where(weights > 0, weights, 1.0)[cell]
        merged = np.empty((2, 3, bins * size))
        for end, (mean, variance, third) in enumerate(self.cumulants.reshape(2, 3, -1)):
            merged[end, 0] = _sums(cell, share * mean, bins * size)
            off = mean - merged[end, 0, cell]
            square = off * off
            merged[end, 1] = _sums(cell, share * (variance + square), bins * size)
            merged[end, 2] = _sums(cell, share * (third + off * (3 * variance + square)), bins * size)
        return _Mixture(weights.reshape(bins, size), merged.reshape(2, 3, bins, size))


def _total(groups: list[Group], n: int) -> _Mixture:
    """The law of the count of all groups together."""
    apart = prod(len(weights) for weights, _ in groups) <= _MOST_COMPONENTS
    total: _Mixture | None = None
    for weights, survival in groups:
        group = _of_group(weights, survival)
        if not apart:
            group = group.merged(n / _MOST_COMPONENTS)
        total = group if total is None else total.plus(group)
        if not apart:
            total = total.merged(n / _MOST_COMPONENTS)
    assert total is not None, "a forecast has at least one worker"
    return total


def _of_group(weights: FloatArray, survival: FloatArray) -> _Mixture:
    """One component per scenario, from the sums of the powers of the members' survival."""
    first = survival.sum(axis=1)
    power = survival * survival
    second = power.sum(axis=1)
    power *= survival
    third = power.sum(axis=1)
    # At time 0 no worker has arrived, and all cumulants are 0.
    points = np.zeros((3, len(weights), survival.shape[2] + 1))
    points[0, :, 1:] = survival.shape[1] - first
    points[1, :, 1:] = np.maximum(first - second, 0.0)
    points[2, :, 1:] = 3 * second - first - 2 * third
    cumulants = np.stack([points[:, :, :-1], points[:, :, 1:]])
    return _Mixture(np.repeat(weights[:, None], survival.shape[2], axis=1), cumulants)


def _integrate(mixture: _Mixture, lengths: FloatArray, n: int) -> FloatArray:
    """∫ P(N(t) < c) dt over the grid for c = 1..n."""
    used = mixture.weights > _LEAST_WEIGHT
    start, end = mixture.cumulants[:, :, used]
    rise = end[0] - start[0]
    # Within an interval each chance p_i is linear, so Σ p_i (1 − p_i) bends upwards by the sum of the squared
    # differences, which is at least rise² / n.
    bend = rise**2 / n
    # The midpoint rule is all but exact on pieces over which the mean moves by less than a standard
    # deviation. They are shorter towards the ends of the interval, where an atom has little variance.
    spread = np.sqrt(np.maximum((start[1] + end[1]) / 2 + bend / 4, _PIECE_VARIANCE))
    pieces = np.maximum(np.ceil(rise * (1.0 + 1.0 / spread) / spread), 1).astype(np.int64)
    part, place, width = subdivide((mixture.weights * lengths)[used], pieces)
    first, last = _smooth_step(place), _smooth_step(place + 1.0 / pieces[part])
    width *= pieces[part] * (last - first)
    place = (first + last) / 2
    mean, variance, third = start[:, part] + (end - start)[:, part] * place
    variance += place * (1.0 - place) * bend[part]

    # Only counts near the mean are uncertain: below the band P(N < c) is 0, above it is 1.
    reach = _BAND * np.sqrt(variance) + 2
    low = np.clip(np.floor(mean - reach), 1, n + 1).astype(np.int64)
    high = np.clip(np.ceil(mean + reach), 1, n + 1).astype(np.int64)
    size = high - low
    node = np.repeat(np.arange(len(mean)), size)
    count = np.arange(len(node)) + np.repeat(low - (np.cumsum(size) - size), size)
    below = _count_below(count, node, mean, variance, third)
    seconds: FloatArray = _sums(count, below * width[node], n + 2) + np.cumsum(_sums(high, width, n + 2))
    return seconds[1 : n + 1]


def _smooth_step(x: FloatArray) -> FloatArray:
    """Return a smooth step from 0 to 1 with slope 0 at both ends."""
    return x * x * (3.0 - 2.0 * x)


def _missed_at_end(mixture: _Mixture, n: int) -> FloatArray:
    """`(n,)` P(N < c) at the end of the grid."""
    used = mixture.weights[:, -1] > _LEAST_WEIGHT
    weights, (mean, variance, third) = mixture.weights[used, -1], mixture.cumulants[1, :, used, -1].T
    node = np.repeat(np.arange(len(weights)), n)
    count = np.tile(np.arange(1, n + 1), len(weights))
    below = _count_below(count, node, mean, variance, third)
    missed: FloatArray = weights @ below.reshape(len(weights), n)
    return missed


def _sums(cell: IntArray, values: FloatArray, cells: int) -> FloatArray:
    """`(cells,)` the sum of the values that fall into each cell."""
    total: FloatArray = np.bincount(cell, weights=values, minlength=cells).astype(np.float64, copy=False)
    return total


def _count_below(
    count: IntArray, node: IntArray, mean: FloatArray, variance: FloatArray, third: FloatArray
) -> FloatArray:
    """P(N < count) for shifted binomial counts with the given cumulants.

    Args:
        count: `(m,)` 1..n.
        node: `(m,)` which of the laws each is about.
        mean: `(nodes,)` first cumulant.
        variance: `(nodes,)` second cumulant.
        third: `(nodes,)` third cumulant.

    Returns:
        `(m,)` probabilities.
    """
    variance = np.maximum(variance, _LEAST_VARIANCE)
    # κ₂ = trials · p q and κ₃ = κ₂ (q − p) give p and the number of trials; the mean gives the shift.
    p = np.clip((1.0 - third / variance) / 2, 1e-9, 1 - 1e-9)
    trials = variance / (p * (1.0 - p))
    below = np.empty(len(count))
    for start in range(0, len(count), _BLOCK):
        block = slice(start, start + _BLOCK)
        at = node[block]
        below[block] = _binomial_below(count[block] - 0.5 - mean[at], trials[at], p[at])
    return below


def _binomial_below(off: FloatArray, trials: FloatArray, p: FloatArray) -> FloatArray:
    """P(B − E[B] < off) for binomial B, where off lies half-way between two values that B can take.

    Peizer and Pratt's normal approximation (1968) has about three correct digits even where the variance is
    far below 1, and allows a number of trials that is not whole. All arrays are `(m,)`.
    """
    from scipy.special import ndtr

    # At the mean itself the square root of the deviance over the offset would be 0/0.
    off = np.where(np.abs(off) < 1e-4, 1e-4, off)
    q = 1.0 - p
    hit_mean, miss_mean = trials * p, trials * q
    hits, misses = off + hit_mean, miss_mean - off
    s, f = np.maximum(hits, 1e-9), np.maximum(misses, 1e-9)
    distance = off + 1 / 6 - p / 3 + 0.02 * (q / (s + 0.5) - p / (f + 0.5) + (q - 0.5) / (trials + 1))
    deviance = s * np.log(s / hit_mean) + f * np.log(f / miss_mean)
    z = distance * np.sqrt(np.maximum(deviance, 0.0) * (2 / (1 + 1 / (6 * trials)))) / np.abs(off)
    return np.where((hits > 0) & (misses > 0), ndtr(z), misses <= 0)
