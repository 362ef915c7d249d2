"""Tabulate a forecast from laws that a factor shifts: each worker's own curve beside the joint law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tailcut.forecast.carry import carry_over
from tailcut.shifts import LOG_TAIL, honest, survival_of
from tailcut.types import FloatArray, Forecast, IntArray, Roster, SharedLaws

UNLIKELY = 1e-4
"""Probability in either tail that the time grid leaves out."""


def marginal(roster: Roster, groups: IntArray, laws: SharedLaws, levels: IntArray, grid: int) -> Forecast:
    """Return the forecast with curves averaged over the factors, the old work of busy workers included.

    Args:
        roster: workers that take part.
        groups: `(n,)` the group of each worker.
        laws: the joint law of new work.
        levels: `(n,)` cells from which freaks (outliers, see `tailcut.shifts.honest`) are measured.
        grid: number of times.
    """
    cells = _grid(groups, laws, grid)
    times = laws.origin * np.exp2((cells + 1) / laws.per_octave)
    weights, curves = np.ones((len(laws.prior), 1)), _curves(groups, laws, cells)
    busy = np.flatnonzero(~np.isnan(roster.busy))
    if not len(busy):
        return Forecast(roster.workers, times, curves, weights, groups, shared=laws)
    late = replace(_carried(roster, groups, laws, levels, busy), atoms=np.empty(0))
    return Forecast(
        roster.workers, times, _curves(groups, late, cells), weights, groups, fresh=curves, shared=late
    )


def _carried(
    roster: Roster, groups: IntArray, laws: SharedLaws, levels: IntArray, busy: IntArray
) -> SharedLaws:
    """Return the laws of arrivals with busy workers, as if the rest of old work had the factor of the new."""
    law, beyond = laws.law.copy(), laws.beyond.copy()
    cells = np.arange(law.shape[1])
    middle = np.argmax(np.cumsum(laws.prior, axis=1) >= 0.5, axis=1) - laws.prior.shape[1] // 2
    for group in np.unique(groups[busy]).tolist():
        mine = busy[groups[busy] == group]
        times = laws.origin * np.exp2((cells + 1 + middle[group]) / laws.per_octave)
        alone = Forecast.independent(roster.workers[mine], times, survival_of(law[mine], beyond[mine]))
        left = carry_over(alone, roster.busy[mine]).survival[0]
        mass = -np.diff(left, axis=1, prepend=1.0)
        law[mine], beyond[mine] = honest(np.maximum(mass, 0.0), levels[mine], len(law), left[:, -1])
    return replace(laws, law=law, beyond=beyond)


def _curves(groups: IntArray, laws: SharedLaws, cells: IntArray) -> FloatArray:
    """Return `(1, n, k)` each worker's survival at the ends of cells, averaged over its group's factor."""
    survival = survival_of(laws.law, laws.beyond)
    curves = np.empty((1, len(groups), len(cells)))
    for group in range(len(laws.prior)):
        mine = groups == group
        curves[0, mine] = _averaged(survival[mine], laws.prior[group], cells)
    return curves


def _averaged(survival: FloatArray, prior: FloatArray, cells: IntArray) -> FloatArray:
    """Return `(n, k)` the survival at the ends of cells, averaged over shifts."""
    reach, count = len(prior) // 2, survival.shape[1]
    shifts = np.arange(-reach, reach + 1)
    needed = cells[None, :] - np.arange(count)[:, None] + reach
    inside = np.where((needed >= 0) & (needed <= 2 * reach), prior[np.clip(needed, 0, 2 * reach)], 0.0)
    past = cells[None, :] - shifts[:, None] - count + 1
    inside[-1] += prior @ np.where(past > 0, np.exp(LOG_TAIL * past), 0.0)
    before = prior @ (past < 1 - count)
    out: FloatArray = np.minimum(survival @ inside + before, 1.0)
    return out


def _grid(groups: IntArray, laws: SharedLaws, grid: int) -> IntArray:
    """Return `(<= grid,)` the cells at whose ends to tabulate: half by probability, half evenly."""
    count, reach = laws.law.shape[1], laws.prior.shape[1] // 2
    mass = np.zeros(count + 2 * reach)
    for group, prior in enumerate(laws.prior):
        mass += np.convolve(laws.law[groups == group].sum(axis=0), prior)
    reached = np.cumsum(mass) / mass.sum()
    half = grid // 2
    by_mass = np.searchsorted(reached, np.linspace(UNLIKELY, 1.0 - UNLIKELY, half))
    low, high = int(by_mass[0]) - 1, int(by_mass[-1]) + 1
    evenly = np.linspace(low, high, half).astype(np.int64)
    out: IntArray = np.unique(np.concatenate([by_mass, evenly])) - reach
    return out
