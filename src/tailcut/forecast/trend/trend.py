"""The forecaster `trend`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar, final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.forecast.base import Forecaster
from tailcut.forecast.carry import carry_over
from tailcut.forecast.trend import factors as shared
from tailcut.forecast.trend import own as law_of
from tailcut.forecast.trend import stay
from tailcut.forecast.trend.belief import CENSORED, NEVER, TrendBelief, admitted, first, recentred
from tailcut.forecast.trend.cells import COUNT, Cells, shift_columns
from tailcut.forecast.trend.own import Tally
from tailcut.types import BoolArray, FloatArray, Forecast, IntArray, Roster, RunTimes

SETTLED = 50.0
"""Discounted rounds after which a worker's level is no longer new."""
FIRST_FADE = 5.0
"""Exponent by which the first rounds' residuals fade: round s counts as (s / t) to this power at round t."""
UNSEEN = 0.1
"""Fading of a worker's past where a round did not reach, relative to where it did; used where `paced`."""
UNLIKELY = 1e-4
"""Probability in either tail that the time grid leaves out."""


@final
@dataclass(frozen=True, slots=True)
class Trend(Forecaster[TrendBelief | None]):
    """Forecaster by levels per worker in log space, shared factors and recent residuals; exactly censored.

    Attributes:
        memory: rounds over which a worker's own past is forgotten.
        pool_memory: rounds over which all workers' residuals are forgotten.
        strength: number of own observations by which a worker's past weighs as much as all residuals.
        adapt: rounds over which the weights of persistence adapt.
        grid: number of times per forecast.
        paced: whether to forget only as fast as new evidence comes, so that what lies beyond the usual close
            is kept.

    Example:
        >>> forecaster = Trend(memory=80.0)
    """

    memory: float = 80.0
    pool_memory: float = 100.0
    strength: float = 10.0
    adapt: float = 20.0
    grid: int = 128
    paced: bool = False

    def __post_init__(self) -> None:
        for name in ("memory", "pool_memory", "adapt"):
            if not getattr(self, name) > 1.0:
                raise ParameterError(f"{name} must be over 1 round, but got {getattr(self, name)}. Try 50.")
        if not self.strength > 0.0:
            raise ParameterError(f"strength must be positive, but got {self.strength}. Try 10.")
        if self.grid < 16:
            raise ParameterError(f"grid must be at least 16 times, but got {self.grid}. Try 128.")

    def start(self) -> TrendBelief | None:
        """Return no belief."""
        return None

    def learn(self, belief: TrendBelief | None, seen: RunTimes) -> TrendBelief | None:
        """Follow the shared factors, then each worker."""
        if belief is None:
            if not seen.observed.any():
                return None
            belief = first(Cells.around(float(np.median(seen.seconds[seen.observed]))))
        belief = admitted(recentred(belief, seen), seen.workers)
        rows = np.searchsorted(belief.ids, seen.workers)
        belief = replace(belief, factors=factors_after(belief, rows, belief.next[rows], seen))
        return self.followed(belief, rows, plain_position(belief, seen), seen.observed)

    def followed(
        self,
        belief: TrendBelief,
        rows: IntArray,
        position: FloatArray,
        observed: BoolArray,
        smooth: bool = True,
    ) -> TrendBelief:
        """Update each worker's own part, at factor 1; laws are smooth unless run times repeat exactly."""
        cell, part = law_of.split(position)
        before, last = belief.levels[rows], belief.last_cell[rows]
        weights = stay.updated_weights(
            belief.weights, last, belief.own[rows], cell, part, observed, 1.0 / self.adapt
        )
        last_law = belief.last_law[rows]
        cut = ~observed
        last_law[cut] = _beyond(belief.next[rows[cut]], cell[cut], part[cut])
        tally = self._tallied(belief.tally.rows(rows), position, observed)
        exposure = tally.exposure()
        levels = law_of.levels(tally, exposure)
        # A residual is taken from the level before its own time could move it, except a worker's first.
        residual = position - np.where(last == NEVER, levels, before) + COUNT
        residuals = self._residuals(belief, residual, observed)
        most = law_of.MOST_UNKNOWN if self.paced else law_of.UNKNOWN_HAZARD
        prior = law_of.placed(law_of.hazard(residuals, most), levels)
        own = law_of.own_law(tally, exposure, prior, self.strength, smooth)
        last_cell = np.where(observed, cell, CENSORED)
        absent = belief.absent + 1
        absent[rows] = 0
        # Workers without a run time in this round keep their laws.
        return replace(
            belief,
            absent=absent,
            tally=Tally(
                put(belief.tally.events, rows, tally.events),
                put(belief.tally.censored, rows, tally.censored),
            ),
            levels=put(belief.levels, rows, levels),
            last_cell=put(belief.last_cell, rows, last_cell),
            last_law=put(belief.last_law, rows, last_law),
            residuals=residuals,
            weights=weights,
            own=put(belief.own, rows, own),
            next=put(belief.next, rows, stay.predictive(weights, last_cell, last_law, own)),
        )

    def _tallied(self, tally: Tally, position: FloatArray, observed: BoolArray) -> Tally:
        """Return each worker's own past with a round added."""
        if self.paced:
            return law_of.tallied_paced(tally, position, observed, self.memory, UNSEEN)
        return law_of.tallied(tally, position, observed, 1.0 - 1.0 / self.memory)

    def _residuals(self, belief: TrendBelief, residual: FloatArray, observed: BoolArray) -> Tally:
        """Return the residuals of all workers with those of a round added."""
        if self.paced:
            mass = self.pool_memory * len(belief.ids)
            return law_of.paced(self._without_first(belief), residual, observed, mass)
        return law_of.pooled(belief.residuals, residual, observed, 1.0 - 1.0 / self.pool_memory)

    def _without_first(self, belief: TrendBelief) -> Tally:
        """Return the residuals so far, older ones with less weight while levels are new.

        They were measured from guessed levels. In the tail, where nothing new comes, they would otherwise
        stay for good.
        """
        rounds = float((belief.tally.events + belief.tally.censored).sum(axis=1).max(initial=0.0))
        if rounds >= SETTLED:
            return belief.residuals
        keep = rounds / (rounds + FIRST_FADE)
        return Tally(belief.residuals.events * keep, belief.residuals.censored * keep)

    def forecast(self, belief: TrendBelief | None, roster: Roster) -> Forecast | None:
        """Return a forecast with one scenario per likely factor of each group."""
        if belief is None:
            return None
        law = self._laws(belief, roster.workers)
        return carry_over(tabulated(belief, law, roster, self.grid), roster.busy)

    def _laws(self, belief: TrendBelief, workers: IntArray) -> FloatArray:
        """Return `(n, cells)` the laws at factor 1; for new workers that of all residuals."""
        rows = np.minimum(np.searchsorted(belief.ids, workers), len(belief.ids) - 1)
        law = belief.next[rows]
        unknown = belief.ids[rows] != workers
        if unknown.any():
            usual = np.array([int(np.median(belief.levels))])
            prior = law_of.placed(law_of.hazard(belief.residuals), usual)
            nothing = Tally.empty(1, COUNT)
            law[unknown] = law_of.own_law(nothing, nothing.exposure(), prior, self.strength)
        return law


def factors_after(
    belief: TrendBelief, rows: IntArray, laws: FloatArray, seen: RunTimes, homes: bool = False
) -> shared.Factors:
    """Return what groups share after `seen`, from workers that were seen before.

    A worker's first run time does not tell whether the worker or its group is slow.
    """
    factors = belief.factors
    if not seen.late:
        factors = replace(factors, by_node=shared.nodes_tell(seen.nodes))
    known = belief.last_cell[rows] != NEVER
    if not known.any():
        return factors
    cells = belief.cells.position(seen.seconds[known]).astype(np.int64)
    groups = factors.groups_of(seen)
    return shared.followed(
        factors, groups[known], laws[known], cells, seen.observed[known], late=seen.late, homes=homes
    )


def plain_position(belief: TrendBelief, seen: RunTimes) -> FloatArray:
    """Return `(n,)` the positions of run times in cells after their group's factor is divided out."""
    shifts = belief.factors.shift_of(belief.factors.groups_of(seen))
    out: FloatArray = np.clip(belief.cells.position(seen.seconds) - shifts, 0.0, COUNT - 2.0**-20)
    return out


def tabulated(
    belief: TrendBelief,
    law: FloatArray,
    roster: Roster,
    grid: int,
    scenarios: bool = True,
    homes: bool = False,
) -> Forecast:
    """Return the forecast from laws at factor 1 and the beliefs about factors: a scenario per likely factor.

    Args:
        belief: cells and factors.
        law: `(n, cells)` laws of the roster's workers.
        roster: workers that take part.
        grid: number of times.
        scenarios: whether factors may differ from 1.
        homes: whether groups' places are compared from where each usually is.
    """
    survival = np.maximum(1.0 - np.cumsum(law, axis=1), 0.0)
    group_ids, groups = np.unique(shared.grouping(roster.nodes), return_inverse=True)
    if scenarios:
        shifts, weights = shared.scenarios(belief.factors, group_ids, homes)
    else:
        shifts, weights = np.zeros((len(group_ids), 1), np.int64), np.ones((len(group_ids), 1))
    cells = _grid(law, groups, shifts, weights, grid)
    curves = np.empty((shifts.shape[1], len(roster), len(cells)))
    for k in range(shifts.shape[1]):
        at = cells[None, :] - shifts[groups, k][:, None]
        picked = np.take_along_axis(survival, np.clip(at, 0, COUNT - 1), axis=1)
        curves[k] = np.where(at < 0, 1.0, picked)
    return Forecast(roster.workers, belief.cells.ends(cells), curves, weights, groups)


def _grid(law: FloatArray, groups: IntArray, shifts: IntArray, weights: FloatArray, grid: int) -> IntArray:
    """Return `(<= grid,)` the cells at whose ends to tabulate: half by probability, half evenly."""
    mass = np.zeros(COUNT)
    for group in range(len(shifts)):
        mine = law[groups == group].sum(axis=0)
        for shift, weight in zip(shifts[group].tolist(), weights[group].tolist(), strict=True):
            if weight > 0.0:
                mass += weight * shift_columns(mine, -shift)
    reached = np.cumsum(mass) / mass.sum()
    half = grid // 2
    by_mass = np.searchsorted(reached, np.linspace(UNLIKELY, 1.0 - UNLIKELY, half))
    low, high = max(int(by_mass[0]) - 1, 0), min(int(by_mass[-1]) + 1, COUNT - 1)
    evenly = np.linspace(low, high, half).astype(np.int64)
    return np.unique(np.minimum(np.concatenate([by_mass, evenly]), COUNT - 1))


Numbers = TypeVar("Numbers", FloatArray, IntArray)


def put(old: Numbers, rows: IntArray, new: Numbers) -> Numbers:
    """Return `old` with some rows replaced; the `rows` are distinct, and all in order if as many."""
    if len(rows) == len(old):
        return new
    out = old.copy()
    out[rows] = new
    return out


def _beyond(law: FloatArray, cell: IntArray, part: FloatArray) -> FloatArray:
    """Return `(rows, cells)` the laws given that the time exceeds a bound; just beyond it if impossible."""
    out = law * (np.arange(COUNT)[None, :] > cell[:, None])
    rows = np.arange(len(cell))
    out[rows, cell] = (1.0 - part) * law[rows, cell]
    total = out.sum(axis=1, keepdims=True)
    impossible = total[:, 0] < 1e-9
    out /= np.maximum(total, 1e-300)
    out[impossible] = 0.0
    out[impossible, np.minimum(cell[impossible] + 1, COUNT - 1)] = 1.0
    return out
