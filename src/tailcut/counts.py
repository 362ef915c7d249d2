"""Expected arrivals and order statistics of run times under a joint forecast.

    Forecast ─▶ expected_count               E[N(t)]
             ─▶ expected_last                E[min(t, last arrival)]
             ─▶ expected_order_statistics    E[x_(c)] = ∫ P(N(t) < c) dt

Given its scenario a group's workers are independent, so the number N(t) of its arrivals by t is
Poisson-binomial; a group's count is a mixture over its scenarios, and the counts of the groups add up. For
few workers this law is worked out exactly here, for many it is approximated in `tailcut.mixture`.
"""

from __future__ import annotations

import numpy as np

from tailcut.mixture import Group, mixture_order_means, subdivide
from tailcut.types import FloatArray, Forecast

_EXACT_WORK = 512
"""Workers times members of the largest group up to which the exact law is as fast as its approximation."""

_GAUSS = 0.5 + np.array([-0.5, 0.5]) / np.sqrt(3.0)
"""Two-point Gauss-Legendre nodes on [0, 1]; each weighs one half."""

_TINY = 1e-300

# exp(−b s) for s from 0 to 1: its drop over its slope at 0, and the mean distance from 1 over the drop.
_RATES = np.geomspace(1e4, 1e-4, 1000)
_STRAIGHT = np.append(-np.expm1(-_RATES) / _RATES, 1.0)
_DROP = np.append((1.0 / _STRAIGHT[:-1] - 1.0) / _RATES, 0.5)


def expected_count(forecast: Forecast) -> FloatArray:
    """E[N(t)], the expected number of arrivals by each time.

    Returns:
        `(times,)` from 0 to n.
    """
    odds = forecast.weights[forecast.groups].T
    missing: FloatArray = np.einsum("sn,snt->t", odds, forecast.survival)
    return len(forecast) - missing


def expected_last(forecast: Forecast) -> FloatArray:
    """E[min(t, last arrival)], the expected seconds that a round lasts which closes at t or when all are in.

    It is the integral of P(last > s) up to t, with P(last ≤ s) = Π over groups of Σ over scenarios of
    weight · Π over workers of F_i(s).

    Returns:
        `(times,)` seconds, never decreasing, at most the time itself.
    """
    return _expected_last(forecast.times, _by_group(forecast))


def expected_order_statistics(forecast: Forecast) -> FloatArray:
    """E[x_(c)] for c = 1..n: when the c-th arrival is expected.

    Time is counted up to the grid's last time only, E[min(x_(c), last time)]. A cutoff that more likely than
    not is still not reached by then is given as infinite, so that a rule dividing by it never prefers it.

    Returns:
        `(n,)` seconds, never decreasing. Exact for few workers; otherwise within about 1 % where the
        combinations of the groups' scenarios are few enough to be kept apart. Where they are merged, single
        cutoffs, such as the one at which just one group is missing, may be off by 3 %.
    """
    groups = _by_group(forecast)
    largest = max(survival.shape[1] for _, survival in groups)
    if len(forecast) * largest <= _EXACT_WORK:
        expected, missed = _exact_order_means(forecast.times, groups)
    else:
        expected, missed = mixture_order_means(forecast.times, groups)
        # The first and the last arrival need no law of the count, only products.
        first = _expected_first(forecast.times, groups)
        last = float(_expected_last(forecast.times, groups)[-1])
        expected = np.clip(np.maximum.accumulate(expected), first, last)
        expected[0], expected[-1] = first, last
    return np.where(missed > 0.5, np.inf, expected)


def _by_group(forecast: Forecast) -> list[Group]:
    """Return the groups that have members, without scenarios of probability 0."""
    order = np.argsort(forecast.groups, kind="stable")
    in_order = bool((order[1:] > order[:-1]).all())
    survival = forecast.survival if in_order else forecast.survival[:, order]
    bounds = np.searchsorted(forecast.groups[order], np.arange(len(forecast.weights) + 1))
    groups = []
    for weights, start, stop in zip(forecast.weights, bounds[:-1], bounds[1:], strict=True):
        members = survival[:, start:stop]
        possible = weights > 0
        if stop > start:
            groups.append((weights, members) if possible.all() else (weights[possible], members[possible]))
    return groups


def _expected_last(times: FloatArray, groups: list[Group]) -> FloatArray:
    """`(times,)` E[min(t, last arrival)]."""
    end, log_slope = np.ones(len(times)), np.zeros(len(times))
    for weights, survival in groups:
        products = np.multiply.reduce(1.0 - survival, axis=1)
        chance = weights @ products
        log_slope += weights @ (products * _rise(survival)) / np.maximum(chance, _TINY)
        end *= chance
    start = np.concatenate([[0.0], end[:-1]])
    still_open = 1.0 - _mean_between(start, end, end * log_slope)
    seconds: FloatArray = np.cumsum(np.diff(times, prepend=0.0) * still_open)
    return seconds


def _expected_first(times: FloatArray, groups: list[Group]) -> float:
    """E[min(first arrival, last time)]."""
    end, start, log_slope = np.ones(len(times)), np.ones(len(times)), np.zeros(len(times))
    for weights, survival in groups:
        products = np.multiply.reduce(survival, axis=1)
        before = np.concatenate([np.ones((len(weights), 1)), products[:, :-1]], axis=1)
        chance = weights @ before
        log_slope += weights @ (before * _rise(survival)) / np.maximum(chance, _TINY)
        start *= chance
        end *= weights @ products
    return float(_mean_between(end, start, start * log_slope) @ np.diff(times, prepend=0.0))


def _rise(survival: FloatArray) -> FloatArray:
    """`(scenarios, times)` expected number of arrivals of a group within each interval of the grid."""
    rise: FloatArray = -np.diff(survival.sum(axis=1), axis=1, prepend=survival.shape[1])
    return rise


def _mean_between(low: FloatArray, high: FloatArray, slope: FloatArray) -> FloatArray:
    """The mean over an interval of the probability that many independent things hold, each linear in time.

    The product of many may bend so sharply that a trapezium would be half an interval off. It is taken for a
    constant plus an exponential, which is right where one thing changes, and where many change a little each.

    Args:
        low: `(intervals,)` at one end.
        high: `(intervals,)` at the other.
        slope: `(intervals,)` at the high end, per length of the interval.
    """
    gap = high - low
    straight = np.minimum(gap / np.maximum(slope, _TINY), 1.0)
    mean: FloatArray = high - gap * np.interp(straight, _STRAIGHT, _DROP)
    return mean


def _exact_order_means(times: FloatArray, groups: list[Group]) -> tuple[FloatArray, FloatArray]:
    """E[min(x_(c), last time)] and P(N(last time) < c), both `(n,)`."""
    lengths = np.diff(times, prepend=0.0)
    steepest = np.zeros(len(times))
    for _, survival in groups:
        steepest += _rise(survival).max(axis=0)
    # P(N(t) < c) is a polynomial between grid times. Over a piece in which at most one arrival is expected it
    # is nearly a cubic, and two Gauss points integrate cubics exactly.
    pieces = np.maximum(np.ceil(steepest), 1).astype(np.int64)
    interval, place, width = subdivide(lengths, pieces)
    place = (place[:, None] + _GAUSS / pieces[interval][:, None]).ravel()
    # The end of the grid is one more node, of weight 0.
    interval, place = np.append(np.repeat(interval, 2), len(times) - 1), np.append(place, 1.0)

    law = np.ones((1, len(place)))
    for weights, survival in groups:
        curves = np.concatenate([np.ones((*survival.shape[:2], 1)), survival], axis=2)
        arrived = 1.0 - (curves[:, :, interval] * (1.0 - place) + curves[:, :, interval + 1] * place)
        law = _convolve(law, np.einsum("s,cst->ct", weights, _poisson_binomial(arrived)))
    below = np.cumsum(law, axis=0)[:-1]
    expected: FloatArray = below[:, :-1] @ np.repeat(width / 2, 2)
    return expected, below[:, -1]


def _poisson_binomial(chances: FloatArray) -> FloatArray:
    """The law of how many of n independent events happen.

    Generating functions are multiplied two by two rather than one by one: few, long numpy operations.

    Args:
        chances: `(scenarios, n, times)`.

    Returns:
        `(n + 1, scenarios, times)`.
    """
    chances = np.swapaxes(chances, 0, 1)
    law = np.stack([1.0 - chances, chances])
    while law.shape[1] > 1:
        if law.shape[1] % 2:
            nothing = np.zeros_like(law[:, :1])
            nothing[0] = 1.0
            law = np.concatenate([law, nothing], axis=1)
        law = _convolve(law[:, 0::2], law[:, 1::2])
    return law[: len(chances) + 1, 0]


def _convolve(first: FloatArray, second: FloatArray) -> FloatArray:
    """The law of the sum of two independent counts, which run along the first axis."""
    if len(first) < len(second):
        first, second = second, first
    total = np.zeros((len(first) + len(second) - 1, *first.shape[1:]))
    for shift, chance in enumerate(second):
        total[shift : shift + len(first)] += first * chance
    return total
