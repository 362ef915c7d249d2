"""The outlook of an open round: the expected arrivals and waiting time until each future moment.

Workers are independent given their group's scenario. Arrivals, and arrivals that do not come, reweight the
scenarios; each remaining worker's own curve is conditioned on not having come yet. O(workers × grid) per question.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailcut.types import BoolArray, FloatArray, Forecast, IntArray, Seconds

TINY = 1e-12
"""Survival below which a worker that is not in counts as overdue: its arrival was certain by now."""
UNLIKELY = 1e-6
"""Probability given to an arrival at a moment the forecast had ruled out, so that no scenario is lost."""
CERTAIN = 16.0
"""Expected stragglers from which on it is certain (1 − 1e-7) that at least one worker is still out."""


@dataclass(frozen=True, slots=True, eq=False)
class Future:
    """The expected course of a round after `elapsed`, for each later grid time d.

    Attributes:
        times: `(k,)` the moments d, seconds since the opening.
        arrivals: `(k,)` expected arrivals in (elapsed, d].
        variance: `(k,)` variance of their number, zeros unless asked for.
        waiting: `(k,)` expected seconds until d or until the last arrival, whichever is first.
        nobody: `(k,)` probability that no worker arrives until d, where that is known.
        back: certainty that groups are at their usual factor again: 0 as at the opening, 1 for certain.
    """

    times: FloatArray
    arrivals: FloatArray
    variance: FloatArray
    waiting: FloatArray
    nobody: FloatArray | None = None
    back: float = 0.0


class Outlook:
    """A forecast prepared for many queries during one round. It never changes."""

    def __init__(self, forecast: Forecast) -> None:
        self.times = forecast.times
        self._survival = np.ascontiguousarray(forecast.survival)
        self._weights = forecast.weights
        self._groups = forecast.groups
        self._fresh = forecast.survival if forecast.fresh is None else forecast.fresh
        self._scenarios, self._n, _ = forecast.survival.shape
        self._membership = np.equal.outer(forecast.groups, np.arange(len(forecast.weights))).astype(float)

    def future(
        self, elapsed: Seconds, arrivals: FloatArray, gone: BoolArray, variance: bool = False
    ) -> Future:
        """Look ahead from `elapsed`.

        Args:
            elapsed: seconds since the opening.
            arrivals: `(n,)` seconds from the opening, infinite where a worker is not in.
            gone: `(n,)` workers that will not come.
            variance: whether the variance of the number of arrivals is wanted.
        """
        start = int(np.searchsorted(self.times, elapsed, side="right"))
        out = np.isinf(arrivals) & ~gone
        if start == len(self.times) or not out.any():
            nothing = np.zeros(0)
            return Future(nothing, nothing, nothing, nothing)
        now = self._at(elapsed, start)
        odds = self._reweighted(now, arrivals, out)
        share = odds[self._groups].T * out  # (scenarios, n): chance of the scenario, for who is still out
        # Survival of a worker that is not in yet is S(d)/S(elapsed). Of an overdue worker the time of arrival
        # is unknown, and its curve stays constant.
        inverse = np.where(now > TINY, 1.0 / np.maximum(now, TINY), 0.0)
        overdue = now <= TINY
        ahead = self._survival[:, :, start:]
        still = _weighted_sum(share * inverse, ahead) + float((share * overdue).sum())
        expected = float(out.sum()) - still
        anybody = self._anybody_out(ahead, inverse, overdue, out, odds, still)
        moments = self.times[start:]
        waiting = integral(elapsed, moments, anybody)
        spread = self._variance(ahead, inverse, overdue, out, odds) if variance else np.zeros(len(moments))
        return Future(moments, expected, spread, waiting)

    def usual(self, variance: bool = False) -> Future:
        """Look ahead from the opening."""
        return self.future(0.0, np.full(self._n, np.inf), np.zeros(self._n, np.bool_), variance)

    def settled(self, variance: bool = False) -> Future | None:
        """Return None: without shared factors no group can be away from its usual one."""
        del variance
        return None

    def surprise(self, begin: Seconds, end: Seconds, arrivals: FloatArray) -> float:
        """Return −log P(no arrival in (begin, end]), given the arrivals until `begin`."""
        out = np.isinf(arrivals)
        now, then = self._curve_at(begin), self._curve_at(end)
        odds = self._reweighted(now, arrivals, out)
        silent = np.where(out, np.log(np.maximum(then, TINY)) - np.log(np.maximum(now, TINY)), 0.0)
        by_group = (silent @ self._membership).T
        return -float(np.log(np.maximum((odds * np.exp(by_group)).sum(axis=1), TINY)).sum())

    def chance(self, position: int, seconds: Seconds) -> float:
        """Probability that new work of the worker at `position` takes at most `seconds`."""
        at = int(np.searchsorted(self.times, seconds, side="right")) - 1
        if at < 0:
            return 0.0
        odds = self._weights[self._groups[position]]
        return float(1.0 - odds @ self._fresh[:, position, at])

    def _curve_at(self, elapsed: Seconds) -> FloatArray:
        """`(scenarios, n)` survival at any moment; after the last grid time it stays as it is."""
        start = int(np.searchsorted(self.times, elapsed, side="right"))
        return self._survival[:, :, -1] if start == len(self.times) else self._at(elapsed, start)

    def _at(self, elapsed: Seconds, start: int) -> FloatArray:
        """`(scenarios, n)` survival at `elapsed`, which lies before grid time `start`."""
        right = self._survival[:, :, start]
        left_time, left = (self.times[start - 1], self._survival[:, :, start - 1]) if start else (0.0, 1.0)
        part = (elapsed - left_time) / (self.times[start] - left_time)
        now: FloatArray = left + (right - left) * part
        return now

    def _reweighted(self, now: FloatArray, arrivals: FloatArray, out: BoolArray) -> FloatArray:
        """`(groups, scenarios)` odds given the times of the arrivals, and the workers still out."""
        if self._scenarios == 1:
            return self._weights
        evidence = np.where(out, np.log(np.maximum(now, UNLIKELY)), 0.0)
        came = np.flatnonzero(np.isfinite(arrivals))
        if len(came):
            evidence[:, came] = np.log(np.maximum(self._cell_mass(came, arrivals[came]), UNLIKELY))
        with np.errstate(divide="ignore"):
            log_odds = np.log(self._weights) + (evidence @ self._membership).T
        log_odds -= log_odds.max(axis=1, keepdims=True)
        odds = np.exp(log_odds)
        scaled: FloatArray = odds / odds.sum(axis=1, keepdims=True)
        return scaled

    def _cell_mass(self, who: IntArray, when: FloatArray) -> FloatArray:
        """`(scenarios, len(who))` probability of the grid cell each arrival fell into."""
        cell = np.minimum(np.searchsorted(self.times, when), len(self.times) - 1)
        before = np.where(cell > 0, self._survival[:, who, np.maximum(cell - 1, 0)], 1.0)
        mass: FloatArray = before - self._survival[:, who, cell]
        return mass

    def _anybody_out(
        self,
        ahead: FloatArray,
        inverse: FloatArray,
        overdue: BoolArray,
        out: BoolArray,
        odds: FloatArray,
        still: FloatArray,
    ) -> FloatArray:
        """`(k,)` probability that at least one worker is still out at each moment."""
        anybody = np.ones(ahead.shape[2])
        # Where many are expected to be out, at least one is; only the rest needs the product over workers.
        first = int(np.argmax(still < CERTAIN)) if still[-1] < CERTAIN else len(still)
        if first == len(still):
            return anybody
        everyone_in = np.ones(len(still) - first)
        for group in np.unique(self._groups[out]):
            mine = np.flatnonzero(out & (self._groups == group))
            arrived = 1.0 - ahead[:, mine, first:] * inverse[:, mine, None]
            arrived[overdue[:, mine]] = 0.0
            everyone_in *= odds[group] @ np.prod(arrived, axis=1)
        anybody[first:] = 1.0 - everyone_in
        return anybody

    def _variance(
        self, ahead: FloatArray, inverse: FloatArray, overdue: BoolArray, out: BoolArray, odds: FloatArray
    ) -> FloatArray:
        """`(k,)` variance of the number of arrivals: within scenarios plus between them, group by group."""
        total = np.zeros(ahead.shape[2])
        for group in np.unique(self._groups[out]):
            mine = np.flatnonzero(out & (self._groups == group))
            still = ahead[:, mine] * inverse[:, mine, None] + overdue[:, mine, None]
            mean = still.sum(axis=1)
            within = (still * (1.0 - still)).sum(axis=1)
            average = odds[group] @ mean
            total += odds[group] @ (within + (mean - average) ** 2)
        return total


def _weighted_sum(weights: FloatArray, curves: FloatArray) -> FloatArray:
    """Σ over scenarios and workers of weight × curve, `(times,)`.

    It is no matrix product: that may hand a few microseconds of work to a pool of threads, and wait for it.
    """
    total: FloatArray = np.einsum("sn,snt->t", weights, curves)
    return total


def integral(
    start: Seconds, times: FloatArray, probability: FloatArray, steps: BoolArray | bool = False
) -> FloatArray:
    """Integrate a probability from `start`, where it is 1: linear between times, or falling at `steps`."""
    left = np.concatenate([[1.0], probability[:-1]])
    widths = np.diff(times, prepend=start)
    area: FloatArray = np.cumsum(widths * np.where(steps, left, (left + probability) * 0.5))
    return area
