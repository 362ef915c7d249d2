"""The expected arrivals of an open round whose groups share a factor of any size; `outlook` has scenarios.

Before the round each shift of a group has its prior odds. Arrivals and silence reweight all of them;
expectations are means over the remaining shifts. Beyond the last cell laws continue with hazard `TAIL` per
cell, so that k workers that are overdue after τ seconds are expected at a rate of about k/τ.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np

from tailcut.outlook import CERTAIN, Future, Outlook, integral
from tailcut.shifts import LOG_TAIL, Evidence, Silence, few_of, normalized, positions, some_of, survival_of
from tailcut.types import BoolArray, FloatArray, Forecast, IntArray, Seconds, SharedLaws

MOST_TELLING = 512
"""Most workers that shifts are judged by: of more workers a sample is used, once enough of it has arrived."""
ENOUGH = 16
"""Expected arrivals among the sampled workers up to which all workers are used instead of the sample."""
MOST_SHIFTS = 24
"""Most shifts of a group over which expectations are averaged."""
EXACT = 60_000
"""Array entries up to which the chance that all are in is exact; with more, workers count as alike."""
AHEAD = np.concatenate([np.arange(48), np.arange(48, 160, 4), np.arange(160, 704, 32)])
"""Offsets of the cells at whose ends expectations are computed: 48 cells one by one, then coarser steps."""
RARE = 0.1
"""Probability of the smallest, and of the largest, factors that a usual round leaves out."""
ROUNDING = 1e-9
"""Largest rounding error of a clock, as a share of the time."""
APART = 4
"""Largest distance from an atom, in cells, of mass that belongs to the atom."""


def _borders(atoms: FloatArray) -> tuple[IntArray, IntArray]:
    """`(atoms,)` cells at whose beginning each atom's mass begins, and ends."""
    inner = 0.5 * (atoms[1:] + atoms[:-1])
    begin = np.floor(np.maximum(atoms - APART, np.append(-np.inf, inner)))
    end = np.floor(np.minimum(atoms + APART, np.append(inner, np.inf)))
    return begin.astype(np.int64), end.astype(np.int64)


class SharedOutlook:
    """A forecast prepared for many queries during one round. It never changes, except for its caches."""

    def __init__(self, forecast: Forecast, laws: SharedLaws) -> None:
        self._laws = laws
        self._groups = forecast.groups
        self._forecast = forecast
        self._survival = survival_of(laws.law, laws.beyond)
        self._squares: FloatArray | None = None
        self._cells = laws.law.shape[1]
        shifts = laws.prior.shape[1]
        self._reach = shifts // 2
        with np.errstate(divide="ignore"):
            self._log_prior = np.log(laws.prior)
        self._begin, self._end = _borders(positions(laws.atoms, laws.origin, laws.per_octave))
        self._some = some_of(forecast.groups, MOST_TELLING)
        self._evidence = self._told_by(self._some)
        self._silence: Silence | None = None
        self._silent: dict[int, FloatArray] = {}

    def future(
        self, elapsed: Seconds, arrivals: FloatArray, gone: BoolArray, variance: bool = False
    ) -> Future:
        """Look ahead from `elapsed`; arguments as of `Outlook.future`."""
        out = np.isinf(arrivals) & ~gone
        nothing = np.zeros(0)
        if not out.any():
            return Future(nothing, nothing, nothing, nothing)
        now = self._now(elapsed)
        odds = self._odds(now, arrivals, out)
        return replace(self._future(elapsed, now, odds, out, variance), back=self._back(odds))

    def settled(self, variance: bool = False) -> Future | None:
        """Look ahead from the opening of a usual round, were all groups at home; None if they are."""
        settled = self._laws.settled
        return None if settled is None else self._usual(settled.prior, variance)

    def usual(self, variance: bool = False) -> Future:
        """Look ahead from the opening of a usual round: one whose factors are not among the rarest either way.

        A rare load must not decide this round's price of a second, since it sets its own when it occurs.
        """
        return self._usual(self._laws.prior, variance)

    def _usual(self, prior: FloatArray, variance: bool) -> Future:
        reached = np.cumsum(prior, axis=1)
        rare = (reached <= RARE) | (reached - prior >= 1.0 - RARE)
        odds = np.where(rare, 0.0, prior)
        odds /= odds.sum(axis=1, keepdims=True)
        everybody = np.ones(len(self._groups), np.bool_)
        return self._future(0.0, self._now(0.0), odds, everybody, variance, opening=True)

    def _future(
        self,
        elapsed: Seconds,
        now: float,
        odds: FloatArray,
        out: BoolArray,
        variance: bool,
        opening: bool = False,
    ) -> Future:
        """Look ahead given the odds of the shifts; `Future.nobody` is known only at the opening."""
        parts = []
        for group in np.unique(self._groups[out]).tolist():
            shifts, weights = few_of(odds[group], MOST_SHIFTS)
            parts.append((np.flatnonzero(out & (self._groups == group)), shifts, weights))
        moments, ahead, steps = self._ahead(elapsed, now, parts)
        expected, spread = np.zeros(len(ahead)), np.zeros(len(ahead))
        everyone, nobody = np.ones(len(ahead)), np.ones(len(ahead))
        for rows, shifts, weights in parts:
            mean, within, all_in = self._conditional(rows, shifts, now, ahead, variance)
            average = weights @ mean
            expected += len(rows) - average
            everyone *= weights @ all_in
            if opening:
                nobody *= weights @ np.exp(self._log_silence(rows, ahead[None, :] - shifts[:, None]))
            if variance:
                spread += weights @ (within + (mean - average) ** 2)
        anybody = 1.0 - everyone
        waiting = integral(elapsed, moments, anybody, steps)
        return Future(moments, expected, spread, waiting, nobody if opening else None)

    def surprise(self, begin: Seconds, end: Seconds, arrivals: FloatArray) -> float:
        """Return the arrivals that were due in a silence (begin, end], given the arrivals at `begin`.

        −log P(silence) where run times are continuous, the sum over atoms of the chance of an arrival where not.
        """
        out = np.isinf(arrivals)
        now = self._now(begin)
        odds = self._odds(now, arrivals, out)
        past, until = self._past(begin), self._past(end)
        steps = self._end[past:until].tolist() if until > past else [self._now(end)]
        silent = np.zeros(len(steps))
        for group in np.unique(self._groups[out]).tolist():
            rows = np.flatnonzero(out & (self._groups == group))
            shifts, weights = few_of(odds[group], MOST_SHIFTS)
            before = np.log(self._at(rows, now, shifts)).sum(axis=0)
            after = [np.log(self._at(rows, step, shifts)).sum(axis=0) for step in steps]
            silent += np.log(np.exp(np.stack(after) - before) @ weights)
        if until > past:
            return float((-np.expm1(np.diff(silent, prepend=0.0))).sum())
        return -float(silent[0])

    def chance(self, position: int, seconds: Seconds) -> float:
        """Probability that new work of the worker at `position` takes at most `seconds`."""
        forecast = self._forecast
        at = int(np.searchsorted(forecast.times, seconds, side="right")) - 1
        if at < 0:
            return 0.0
        fresh = forecast.survival if forecast.fresh is None else forecast.fresh
        return float(1.0 - fresh[0, position, at])

    def odds(self, elapsed: Seconds, arrivals: FloatArray, gone: BoolArray) -> FloatArray:
        """`(groups, shifts)` probabilities given the times of the arrivals, and the workers still out."""
        return self._odds(self._now(elapsed), arrivals, np.isinf(arrivals) & ~gone)

    def _position(self, elapsed: Seconds) -> float:
        """Return the position of a moment in cells; at the opening it is below all of them."""
        where = positions(np.array([elapsed]), self._laws.origin, self._laws.per_octave)[0]
        return float(np.clip(where, -self._reach - 1.0, self._cells + 4.0 * self._reach))

    def _seconds(self, cells: IntArray) -> FloatArray:
        """Ends of cells in seconds."""
        out: FloatArray = self._laws.origin * np.exp2((cells + 1) / self._laws.per_octave)
        return out

    def _back(self, odds: FloatArray) -> float:
        """Return how far the chance that groups are at home has risen since the opening, from 0 to 1."""
        settled = self._laws.settled
        if settled is None:
            return 0.0
        sizes = np.bincount(self._groups, minlength=len(odds)) / len(self._groups)
        before, now = (float(sizes @ (law * settled.at_home).sum(axis=1)) for law in (self._laws.prior, odds))
        return max(0.0, (now - before) / max(1.0 - before, 1e-9))

    def _told_by(self, rows: IntArray) -> Evidence:
        law, survival, groups = self._laws.law[rows], self._survival[rows], self._groups[rows]
        return Evidence(law, survival, groups, len(self._log_prior), self._reach)

    def _odds(self, now: float, arrivals: FloatArray, out: BoolArray) -> FloatArray:
        n = len(out)
        if len(self._some) < n and np.count_nonzero(~out) * len(self._some) <= ENOUGH * n:
            return normalized(self._log_prior + self._first_ones(now, arrivals, np.flatnonzero(~out)))
        when = arrivals[self._some]
        logs = self._log_prior
        silent = np.flatnonzero(out[self._some])
        if len(silent):
            logs = logs + self._evidence.of_bounds(silent, np.full(len(silent), now))
        came = np.flatnonzero(np.isfinite(when))
        if len(came):
            where = positions(when[came], self._laws.origin, self._laws.per_octave)
            logs = logs + self._evidence.of_arrivals(came, where)
        return normalized(logs)

    def _first_ones(self, now: float, arrivals: FloatArray, rows: IntArray) -> FloatArray:
        """`(groups, shifts)` log-likelihood of a few arrivals and of the silence of all others."""
        if self._silence is None:
            self._silence = Silence(self._survival, self._groups, len(self._log_prior), self._reach)
        logs = self._silence.until(now)
        if not len(rows):
            return logs
        evidence, everybody = self._told_by(rows), np.arange(len(rows))
        logs = logs - evidence.of_bounds(everybody, np.full(len(rows), now))
        came = np.flatnonzero(np.isfinite(arrivals[rows]))
        if len(came):
            when = positions(arrivals[rows[came]], self._laws.origin, self._laws.per_octave)
            logs = logs + evidence.of_arrivals(came, when)
        return logs

    def _now(self, elapsed: Seconds) -> float:
        """Return the position at which survival is read: the mass of an atom arrives all at once."""
        where, past = self._position(elapsed), self._past(elapsed)
        if past and where < self._end[past - 1]:
            return float(self._end[past - 1])
        if past < len(self._begin) and where > self._begin[past]:
            return float(self._begin[past])
        return where

    def _past(self, elapsed: Seconds) -> int:
        """Return how many atoms have passed, with a margin for rounding clocks."""
        return int(np.searchsorted(self._laws.atoms, elapsed * (1.0 + ROUNDING), side="right"))

    def _ahead(
        self, elapsed: Seconds, now: float, parts: list[tuple[IntArray, IntArray, FloatArray]]
    ) -> tuple[FloatArray, IntArray, BoolArray]:
        """Moments of the future, the cells at whose ends survival is read there, and which of them are atoms."""
        past = self._past(elapsed)
        first = int(np.floor(now))
        if now < -self._reach:
            first = min(int(self._first(rows) + shifts.min()) for rows, shifts, _ in parts)
        cells = first + AHEAD
        inside = (cells[:, None] + 1 > self._begin) & (cells[:, None] + 1 < self._end)
        cells = cells[~inside.any(axis=1)]
        moments = np.concatenate([self._laws.atoms[past:], self._seconds(cells)])
        ahead = np.concatenate([self._end[past:] - 1, cells])
        steps = np.arange(len(ahead)) < len(self._end) - past
        order = np.argsort(moments, kind="stable")
        order = order[moments[order] > elapsed]
        return moments[order], ahead[order], steps[order]

    def _first(self, rows: IntArray) -> int:
        """The cell in which the first of some workers may come, at shift 0; what comes before is rare."""
        expected = len(rows) - self._survival[rows].sum(axis=0)
        return int(np.searchsorted(expected, 0.05))

    def _conditional(
        self, rows: IntArray, shifts: IntArray, now: float, ahead: IntArray, variance: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """`(shifts, k)` mean and variance of the workers still out given each shift, and chance of none."""
        inverse = 1.0 / self._at(rows, now, shifts)
        at = ahead[None, :] - shifts[:, None]
        mean = self._sums(self._survival, inverse, rows, at, LOG_TAIL)
        few = len(rows) * at.size <= EXACT
        if not few or variance:
            if self._squares is None:
                self._squares = self._survival**2
            squares = self._sums(self._squares, inverse**2, rows, at, 2.0 * LOG_TAIL)
        within = mean - squares if variance else mean
        all_in = np.zeros_like(mean)
        soon = np.flatnonzero((mean < CERTAIN).any(axis=0))
        if few:
            if len(soon):
                still = self._cells_of(rows, at[:, soon]) * inverse[:, :, None]
                all_in[:, soon] = np.prod(1.0 - np.minimum(still, 1.0), axis=0)
        else:
            # Approximated by equal workers, as many as give the right first two moments.
            alike = np.minimum(squares / np.maximum(mean, 1e-300), 1.0 - 1e-12)
            all_in = np.exp(np.log1p(-alike) * mean / np.maximum(alike, 1e-300))
        return mean, within, all_in

    def _sums(
        self, curves: FloatArray, weights: FloatArray, rows: IntArray, at: IntArray, log_tail: float
    ) -> FloatArray:
        """`(shifts, k)` Σ over rows of weight × curve at `at`; 1 before the first cell, falling beyond the last."""
        mine = curves if len(rows) == len(curves) else curves[rows]
        # A matrix product uses a pool of threads, which pays only for large arrays.
        total = weights.T @ mine if mine.size > EXACT else np.einsum("ns,nc->sc", weights, mine)
        picked = np.take_along_axis(total, np.clip(at, 0, self._cells - 1), axis=1)
        picked = np.where(at < 0, weights.sum(axis=0)[:, None], picked)
        out: FloatArray = picked * np.exp(log_tail * np.maximum(at - self._cells + 1, 0))
        return out

    def _log_silence(self, rows: IntArray, at: IntArray) -> FloatArray:
        """Log-probability that none of the workers of a whole group has come by the ends of any cells."""
        group = int(self._groups[rows[0]])
        if group not in self._silent:
            self._silent[group] = np.log(self._survival[rows]).sum(axis=0)
        inside = self._silent[group][np.clip(at, 0, self._cells - 1)]
        out: FloatArray = np.where(at < 0, 0.0, inside) + len(rows) * LOG_TAIL * np.maximum(
            at - self._cells + 1, 0
        )
        return out

    def _cells_of(self, rows: IntArray, at: IntArray) -> FloatArray:
        """`(rows, …)` survival at the ends of any cells."""
        places = rows[(slice(None), *[None] * at.ndim)]
        if at.size and at.min() >= 0 and at.max() < self._cells:
            among: FloatArray = self._survival[places, at]
            return among
        inside = self._survival[places, np.clip(at, 0, self._cells - 1)]
        out: FloatArray = np.where(at < 0, 1.0, inside) * np.exp(
            LOG_TAIL * np.maximum(at - self._cells + 1, 0)
        )
        return out

    def _at(self, rows: IntArray, now: float, shifts: IntArray) -> FloatArray:
        """`(rows, shifts)` survival at a position given each shift, linear in the logarithm within a cell."""
        position = now - shifts.astype(np.float64)
        cell = np.floor(position).astype(np.int64)
        before, after = np.log(self._cells_of(rows, cell - 1)), np.log(self._cells_of(rows, cell))
        out: FloatArray = np.exp(before + (position - cell) * (after - before))
        return out


AnyOutlook: TypeAlias = Outlook | SharedOutlook


def outlook_of(forecast: Forecast) -> AnyOutlook:
    """Return the outlook of a forecast, with shared factors of any size or with scenarios."""
    return Outlook(forecast) if forecast.shared is None else SharedOutlook(forecast, forecast.shared)
