"""The forecaster `bayes`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.forecast.base import Forecaster
from tailcut.forecast.bayes import blend, levels, pool, shared
from tailcut.forecast.bayes.belief import VARIANTS, BayesBelief, nothing, prepared
from tailcut.forecast.bayes.context import features
from tailcut.forecast.bayes.deep import Deep
from tailcut.forecast.bayes.shape import shape_laws
from tailcut.forecast.bayes.shared import Shared
from tailcut.forecast.bayes.tabulate import marginal
from tailcut.forecast.trend import own as law_of
from tailcut.forecast.trend.belief import NEVER
from tailcut.forecast.trend.cells import COUNT, PER_OCTAVE, Cells
from tailcut.forecast.trend.factors import grouping, nodes_tell
from tailcut.forecast.trend.trend import Trend, put
from tailcut.shifts import honest
from tailcut.types import FloatArray, Forecast, IntArray, Roster, RunTimes, SharedLaws, Weights

CELL = 1.0 - 2.0**-20
"""A whole cell, short of the next."""
FIRST_BLUR, VAGUE = 1.5, 3.0
"""Smoothing with which the first laws tell the common factor of a past round, and rounds after which half is left."""
MOST_SCORED = 500
"""Workers by which variants are scored: of k times as many, every k-th worker counts."""


@final
@dataclass(frozen=True, slots=True)
class Bayes(Forecaster[BayesBelief | None]):
    """A blend of filters over each worker's run times, scenarios for what workers share, and a deep correction.

    Everything is exact under censoring and needs no fixed number of workers. `learn` is a round's work, to be done
    while the workers compute; nothing of it is needed to close one.

    Attributes:
        trend: each worker's own empirical law, and the factors that groups share.
        memory: rounds over which the law of all workers is forgotten, where new evidence comes.
        adapt: rounds over which the rates of the filter follow the data.
        score_memory: rounds over which the variants are scored.
        doubt: pull towards equal weights, see `blend.best_weights`.
        scenarios: whether groups may share a factor; without, workers are independent.
        deep: the pre-trained correction of hazards; None leaves the filters as they are.

    Example:
        >>> forecaster = Bayes()
    """

    trend: Trend = field(default_factory=lambda: Trend(paced=True))
    memory: float = 300.0
    adapt: float = 20.0
    score_memory: float = 50.0
    doubt: float = 0.01
    scenarios: bool = True
    deep: Deep | None = None

    def __post_init__(self) -> None:
        for name in ("memory", "adapt", "score_memory"):
            if not getattr(self, name) > 1.0:
                raise ParameterError(f"{name} must be over 1 round, but got {getattr(self, name)}. Try 50.")
        if not self.doubt > 0.0:
            raise ParameterError(f"doubt must be positive, but got {self.doubt}. Try 0.01.")

    def start(self) -> BayesBelief | None:
        """Return no belief."""
        return None

    def learn(self, belief: BayesBelief | None, seen: RunTimes) -> BayesBelief | None:
        """Follow what groups share, score the variants on what came, then follow each worker."""
        if belief is None:
            if not seen.observed.any():
                return None
            belief = nothing(Cells.around(float(np.median(seen.seconds[seen.observed]))))
        belief = prepared(replace(belief, atoms=belief.atoms.after(seen)), seen)
        rows = np.searchsorted(belief.base.ids, seen.workers)
        laws = belief.laws[:, rows]
        plain, corrected = belief.plain[rows], belief.corrected[rows]
        if self.scenarios:
            # Not by the corrected laws: a correction that is wrong for all workers would look like a factor.
            belief = replace(belief, shared=self._shared(belief, rows, plain, seen))
        # Everything from here on is at factor 1.
        position = plain_position(belief, seen)
        if not seen.late:
            belief = self._calibrated(belief, rows, position, seen)
            belief = self._scored(belief, laws, plain, corrected, position, seen)
        belief = replace(belief, context=belief.context.after(rows, plain, position, seen))
        return self._followed(belief, rows, position, seen)

    def _shared(self, belief: BayesBelief, rows: IntArray, law: FloatArray, seen: RunTimes) -> Shared:
        """Return what groups share after `seen`, from workers that were seen before.

        A worker's first run time does not tell whether the worker or its group is slow.
        """
        base, now = belief.base, belief.shared
        if not seen.late:
            now = replace(now, by_node=nodes_tell(seen.nodes))
        known = base.last_cell[rows] != NEVER
        if not known.any():
            return now
        crowd = max(int(belief.crowd), 1)
        # Laws are vague at first, or what is noise would pass for a factor; later they must not blur its drift.
        laws = _smooth(belief, law[known], FIRST_BLUR * VAGUE / (VAGUE + belief.scored))
        laws, beyond = honest(laws, base.levels[rows[known]], crowd)
        where = positions_of(belief, seen)[known]
        groups = now.groups_of(seen)[known]
        return shared.followed(now, groups, laws, beyond, where, seen.observed[known], seen.late)

    def _scored(
        self,
        belief: BayesBelief,
        laws: FloatArray,
        plain: FloatArray,
        corrected: FloatArray,
        position: FloatArray,
        seen: RunTimes,
    ) -> BayesBelief:
        """Score how well each variant, and the deep correction, forecast the round."""
        where = positions_of(belief, seen)
        close = np.clip(position + (where.max() - where), 0.0, COUNT - 1.0)
        # Of thousands of workers, a regular sample gives the weights as well as all.
        some = slice(None, None, max(1, len(seen) // MOST_SCORED))
        position, observed, close = position[some], seen.observed[some], close[some]
        keep = 1.0 - 1.0 / self.score_memory
        cross = keep * belief.cross + blend.cross_scores(laws[:, some], position, observed, close)
        scored = keep * belief.scored + 1.0
        weights = blend.best_weights(cross, self.doubt + 1.0 / (1.0 + scored))
        belief = replace(belief, crowd=float(len(seen)), cross=cross, scored=scored, weights=weights)
        if self.deep is None:
            return belief
        both = np.stack([plain[some], corrected[some]])
        deep_cross = keep * belief.deep_cross + blend.cross_scores(both, position, observed, close)
        trust = float(blend.best_weights(deep_cross, self.doubt)[1])
        return replace(belief, deep_cross=deep_cross, trust=trust)

    def _calibrated(
        self, belief: BayesBelief, rows: IntArray, position: FloatArray, seen: RunTimes
    ) -> BayesBelief:
        """Count how early workers came against the laws told; repeated times have no tails to correct."""
        known = np.flatnonzero(belief.base.last_cell[rows] != NEVER)
        if len(belief.atoms.known()) or not len(known):
            return belief
        where = positions_of(belief, seen)
        close = position + (where.max() - where)
        told = _trusted(trust_of(belief), belief.plain[rows[known]], belief.corrected[rows[known]])
        early = belief.early.after(told, position[known], seen.observed[known], close[known])
        return replace(belief, early=early)

    def _followed(
        self, belief: BayesBelief, rows: IntArray, position: FloatArray, seen: RunTimes
    ) -> BayesBelief:
        """Update each worker's own part, and the law of all."""
        cell, part = law_of.split(position)
        after, rates = levels.updated(
            belief.rates,
            belief.levels[rows],
            belief.base.own[rows],
            belief.everybody,
            cell,
            part,
            seen.observed,
            1.0 / self.adapt,
        )
        common = law_of.paced(belief.common, position, seen.observed, self.memory * belief.crowd)
        smooth = not len(belief.atoms.known())
        everybody = pool.law(common, smooth)
        base = self.trend.followed(belief.base, rows, position, seen.observed, smooth)
        filtered = levels.predictive(rates, after, base.own[rows], everybody)
        mine = np.stack([base.next[rows], filtered, shape_laws(base, rows)])
        plain = blend.blended(belief.weights, mine)
        corrected = plain
        if self.deep is not None:
            read = features(belief.context, rates, rows, plain, everybody, belief.crowd)
            corrected = self.deep.corrected(read, plain)
        # Workers without a run time in this round keep their laws.
        return replace(
            belief,
            base=base,
            common=common,
            everybody=everybody,
            levels=put(belief.levels, rows, after),
            rates=rates,
            laws=_put_laws(belief.laws, rows, mine),
            plain=put(belief.plain, rows, plain),
            corrected=put(belief.corrected, rows, corrected),
        )

    def forecast(self, belief: BayesBelief | None, roster: Roster) -> Forecast | None:
        """Return the laws of the roster's next run times; a worker never seen has the law of all."""
        if belief is None:
            return None
        rows = np.minimum(np.searchsorted(belief.base.ids, roster.workers), len(belief.base.ids) - 1)
        law = _trusted(trust_of(belief), belief.plain[rows], belief.corrected[rows])
        if not len(belief.atoms.known()):
            law = belief.early.applied(law)
        places = belief.base.levels[rows]
        unknown = belief.base.ids[rows] != roster.workers
        law[unknown] = belief.everybody
        places[unknown] = int(np.median(belief.base.levels))
        if self.scenarios:
            law = _smooth(belief, law)
        laws, beyond = honest(law, places, len(roster))
        group_ids, groups = np.unique(grouping(roster.nodes), return_inverse=True)
        settled = None
        if self.scenarios:
            odds = shared.prior(belief.shared, group_ids)
            settled = shared.settled(belief.shared, group_ids)
        else:
            odds = np.zeros((len(group_ids), len(shared.SHIFTS)))
            odds[:, shared.REACH] = 1.0
        cells = belief.base.cells
        origin = float(cells.ends(np.array([-1]))[0])
        together = SharedLaws(laws, beyond, odds, origin, PER_OCTAVE, belief.atoms.known(), settled)
        return marginal(roster, groups, together, places, self.trend.grid)

    def weights(self, belief: BayesBelief | None) -> Weights:
        """Return the weights of the variants, and of the deep correction beside them."""
        if belief is None:
            return ()
        blended = tuple(zip(VARIANTS, belief.weights.tolist(), strict=True))
        return blended if self.deep is None else (*blended, ("deep", trust_of(belief)))


def positions_of(belief: BayesBelief, seen: RunTimes) -> FloatArray:
    """Return `(n,)` the positions of run times in cells, also outside the range covered.

    Where run times repeat exactly, a worker that is cut at an atom has outlasted all of it, and so its whole cell.
    """
    where = belief.base.cells.anywhere(seen.seconds)
    if len(belief.atoms.known()):
        where = np.where(seen.observed, where, np.floor(where) + CELL)
    return where


def plain_position(belief: BayesBelief, seen: RunTimes) -> FloatArray:
    """Return `(n,)` the positions of run times in cells after their group's factor is divided out."""
    shifts = belief.shared.shift_of(belief.shared.groups_of(seen))
    if len(belief.atoms.known()):
        shifts = np.floor(shifts + 0.5)  # So that an atom stays in one cell.
    out: FloatArray = np.clip(positions_of(belief, seen) - shifts, 0.0, COUNT - 2.0**-20)
    return out


def _smooth(belief: BayesBelief, law: FloatArray, part: float = 1.0) -> FloatArray:
    """Return laws that claim no more than the run times seen can tell; values that repeat stay as sharp as they are."""
    if len(belief.atoms.known()):
        return law
    return pool.smoothed(law, float(belief.common.events.sum()), part)


def trust_of(belief: BayesBelief) -> float:
    """Return the weight of the corrected laws; 0 where values repeat, which the deep part does not model."""
    return 0.0 if len(belief.atoms.known()) else belief.trust


def _trusted(trust: float, plain: FloatArray, corrected: FloatArray) -> FloatArray:
    """Return the laws blended by the trust in the deep correction."""
    out: FloatArray = (1.0 - trust) * plain
    out += trust * corrected
    return out


def _put_laws(old: FloatArray, rows: IntArray, new: FloatArray) -> FloatArray:
    """Return `(variants, m, cells)` the laws with those of some workers replaced."""
    if len(rows) == old.shape[1]:
        return new
    out = old.copy()
    out[:, rows] = new
    return out
