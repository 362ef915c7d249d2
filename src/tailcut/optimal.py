"""The best that any stopping rule can do on independent, identically distributed run times.

A bound for checking rules. n workers share one law, given on a time grid; an arrival counts as coming at the
next grid time. A rule may close the round at any grid time with at least one gradient in. Workers that are
alike cannot be told apart, so elapsed time and count are all a rule needs to know, and dynamic programming
finds the one with the highest long-run rate E[N] / E[T + overhead]. What is left of the law at the last time
never comes: a round still open then closes with what is in, be it nothing.

The fixed rules (a cutoff, a deadline, wait for all) are given on the same law, exactly, for comparison. A
cutoff takes just its c gradients, while the optimal rule takes all that come at the same time; for a law
without atoms the difference vanishes as the grid becomes fine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailcut.order import binomial_law, log_factorials, safe_log
from tailcut.types import BoolArray, FloatArray, IntArray, Seconds

_BLOCK = 1 << 18
"""Transition probabilities worked out at once."""


@dataclass(frozen=True, slots=True, eq=False)
class OptimalStopping:
    """The optimal rule and what it attains.

    Attributes:
        rate: gradients per second in the long run, overhead included.
        times: `(times,)` seconds at which closing is considered.
        close: `(times, n + 1)` whether to close at that time with 0..n in.
    """

    rate: float
    times: FloatArray
    close: BoolArray

    def run(self, rows: FloatArray) -> tuple[IntArray, FloatArray]:
        """Apply the rule to sampled run times.

        Args:
            rows: `(rounds, n)` seconds; each arrival counts from the next grid time on.

        Returns:
            How many were in when each round closed, `(rounds,)`, and after how many seconds, `(rounds,)`.
        """
        size, states = self.close.shape
        if rows.ndim != 2 or rows.shape[1] != states - 1:
            raise ValueError(f"Rows must have {states - 1} run times each, but got the shape {rows.shape}.")
        arrival = np.sort(np.searchsorted(self.times, rows), axis=1)
        since = np.pad(arrival, ((0, 0), (1, 0)), constant_values=0)
        until = np.pad(arrival, ((0, 0), (0, 1)), constant_values=size + 1)
        # With j in from `since` on, the round closes at the next moment at which the rule closes with j,
        # unless one more arrives no later.
        moment = self._next_close()[since, np.arange(states)]
        count = np.argmax(moment < until, axis=1)
        return count, self.times[moment[np.arange(len(rows)), count]]

    def _next_close(self) -> IntArray:
        """`(times + 1, n + 1)` the first position from each one on at which the rule closes."""
        size, states = self.close.shape
        never = np.full((1, states), size + 1)
        position = np.where(self.close, np.arange(size)[:, None], size + 1)
        return np.minimum.accumulate(np.concatenate([position, never])[::-1], axis=0)[::-1]


def optimal_stopping(times: FloatArray, survival: FloatArray, n: int, overhead: Seconds) -> OptimalStopping:
    """The rule with the highest long-run rate, by Dinkelbach's method (1967) over backward inductions.

    At a price λ per second a round is worth N − λ (T + overhead). The rule that makes its expectation largest
    has a rate of at least λ, which is the next price; where the expectation is zero no rule does better.

    Args:
        times: `(times,)` seconds, increasing, > 0.
        survival: `(times,)` P(x > time), never increasing; may jump.
        n: number of workers, at least 1.
        overhead: seconds a round costs beside waiting, ≥ 0.

    Returns:
        The rule and its rate.

    Example:
        >>> found = optimal_stopping(np.array([1.0, 9.0]), np.array([0.1, 0.0]), 8, 0.0)
        >>> round(found.rate, 3), found.close[0].tolist()
        (7.2, [False, True, True, True, True, True, True, True, True])
    """
    _check(times, survival, n, overhead)
    rate = wait_all_rate(times, survival, n, overhead)
    while True:
        close, gradients, seconds = _best_rule(times, survival, n, rate)
        better = gradients / (seconds + overhead)
        if better <= rate * (1 + 1e-12):
            return OptimalStopping(max(rate, better), times, close)
        rate = better


def cutoff_rates(times: FloatArray, survival: FloatArray, n: int, overhead: Seconds) -> FloatArray:
    """`(n,)` gradients per second of waiting for c = 1..n arrivals in every round and taking just these."""
    _check(times, survival, n, overhead)
    counts = binomial_law(n, np.concatenate([[0.0], 1.0 - survival]))
    below = np.cumsum(counts, axis=1)[:, :n]
    seconds = np.diff(times, prepend=0.0) @ below[:-1]
    # E[min(c, N)] = Σ over j < c of P(N > j), for the law may leave some that never come.
    gradients = np.cumsum(1.0 - below[-1])
    rates: FloatArray = gradients / (seconds + overhead)
    return rates


def deadline_rates(times: FloatArray, survival: FloatArray, n: int, overhead: Seconds) -> FloatArray:
    """`(times,)` gradients per second of closing every round at that time, or as soon as all are in.

    Where no gradient is in at the deadline, the round closes with the first arrival.
    """
    _check(times, survival, n, overhead)
    step = np.diff(times, prepend=0.0)
    before = np.concatenate([[1.0], survival[:-1]])
    until_last = np.cumsum(step * (1.0 - (1.0 - before) ** n))
    until_first = np.cumsum(step * before**n)
    # Expected number of first arrivals at each time: n · (mass there) · P(no other arrival before).
    first = np.cumsum(n * (before - survival) * before ** (n - 1))
    gradients = n * (1.0 - survival) + first[-1] - first
    rates: FloatArray = gradients / (until_last + until_first[-1] - until_first + overhead)
    return rates


def best_fixed_cutoff_rate(times: FloatArray, survival: FloatArray, n: int, overhead: Seconds) -> float:
    """Gradients per second of the best fixed cutoff."""
    return float(cutoff_rates(times, survival, n, overhead).max())


def best_fixed_deadline_rate(times: FloatArray, survival: FloatArray, n: int, overhead: Seconds) -> float:
    """Gradients per second of the best fixed deadline."""
    return float(deadline_rates(times, survival, n, overhead).max())


def wait_all_rate(times: FloatArray, survival: FloatArray, n: int, overhead: Seconds) -> float:
    """Gradients per second of waiting for all workers."""
    return float(cutoff_rates(times, survival, n, overhead)[-1])


def _check(times: FloatArray, survival: FloatArray, n: int, overhead: Seconds) -> None:
    if n < 1:
        raise ValueError(f"The number of workers must be at least 1, but got {n=}.")
    if overhead < 0:
        raise ValueError(f"The overhead must not be negative, but got {overhead=}.")
    if times.shape != survival.shape or times.ndim != 1 or len(times) == 0:
        raise ValueError(
            f"Times and survival must be equally long, but got {times.shape} and {survival.shape}."
        )
    if times[0] <= 0 or (np.diff(times) <= 0).any():
        raise ValueError("Times must be positive and increase; drop equal ones.")
    falling = np.concatenate([[1.0], survival, [0.0]])
    # A survival curve that rises by a rounding error, as of a mixture of laws, is not refused.
    if (np.diff(falling) > 1e-12).any():
        raise ValueError("Survival must fall from at most 1 to at least 0; is it a distribution function?")
    if survival[-1] == 1:
        raise ValueError("Survival must fall below 1: under this law nobody ever arrives.")


def _best_rule(
    times: FloatArray, survival: FloatArray, n: int, price: float
) -> tuple[BoolArray, float, float]:
    """The rule that maximizes E[N] − price · E[T], with its E[N] and E[T], by backward induction."""
    step = np.diff(times, prepend=0.0)
    before = np.concatenate([[1.0], survival[:-1]])
    hazard = np.clip(1.0 - survival / np.where(before > 0, before, 1.0), 0.0, 1.0)
    close = np.zeros((len(times), n + 1), dtype=np.bool_)
    close[-1] = True
    # Gradients and further seconds for each count: of closing at once, and of the rule from a time on.
    at_once = np.stack([np.arange(n + 1.0), np.zeros(n + 1)], axis=1)
    from_here = at_once
    block = max(1, _BLOCK // (n + 1) ** 2)
    for stop in range(len(times), 0, -block):
        start = max(stop - block, 0)
        moves = _transitions(hazard[start:stop], n)
        for k in range(stop - 1, start - 1, -1):
            from_here = moves[k - start] @ from_here
            from_here[:, 1] += step[k]
            # The first step starts at the opening, where there is nothing to close with.
            if k > 0:
                close[k - 1] = at_once[:, 0] >= from_here[:, 0] - price * from_here[:, 1]
                close[k - 1, 0] = False
                from_here = np.where(close[k - 1, :, None], at_once, from_here)
    return close, float(from_here[0, 0]), float(from_here[0, 1])


def _transitions(hazard: FloatArray, n: int) -> FloatArray:
    """`(steps, n + 1, n + 1)` P(j in → j' in) when each worker still missing arrives with chance `hazard`."""
    logs = log_factorials(n)
    now, then = np.arange(n + 1)[:, None], np.arange(n + 1)
    come, stay = np.maximum(then - now, 0), n - np.maximum(then, now)
    ways = np.where(then >= now, logs[n - now] - logs[come] - logs[stay], -np.inf)
    log_hit, log_miss = safe_log(hazard)[:, None, None], safe_log(1.0 - hazard)[:, None, None]
    chances: FloatArray = np.exp(ways + come * log_hit + stay * log_miss)
    return chances
