"""All that `bayes` believes, and how that belief grows with workers and follows the scale of time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tailcut.forecast.bayes.atoms import Atoms
from tailcut.forecast.bayes.context import Context
from tailcut.forecast.bayes.early import Early
from tailcut.forecast.bayes.levels import Rates
from tailcut.forecast.bayes.shared import Shared
from tailcut.forecast.trend.belief import NEVER, TrendBelief, admitted, first
from tailcut.forecast.trend.cells import COUNT, PER_OCTAVE, Cells
from tailcut.forecast.trend.own import Tally
from tailcut.types import FloatArray, IntArray, RunTimes

VARIANTS = ("own", "level", "shape")
"""Names of the laws that are blended: a worker's own past, the filter over levels, the common shape."""
FIRST_TRUST = 10.0 * np.array([[0.55, 0.50], [0.50, 0.45]])
"""First cross scores: as if the deep correction had been better by a fifth for ten rounds."""
TOO_FAR = 7 * PER_OCTAVE
"""Cells by which the median of a round must be off before the unit of time moves."""


@dataclass(frozen=True, slots=True, eq=False)
class BayesBelief:
    """Arrays over known workers are aligned with `base.ids`.

    Attributes:
        base: cells, workers and their own empirical laws.
        shared: the factors that groups share.
        atoms: values that run times repeat.
        common: `(cells,)` events and exposure of all workers at factor 1.
        crowd: number of workers in the last whole round.
        everybody: `(cells,)` the law of all workers, from `common`.
        levels: `(m, cells)` belief about each worker's level in the last round.
        rates: how levels move and how far run times lie from them.
        laws: `(variants, m, cells)` each variant's law of the next run times at factor 1.
        cross: `(variants, variants)` discounted sum of cross scores, see `blend`.
        scored: discounted number of rounds in it.
        weights: `(variants,)` how much each variant counts.
        deep_cross: `(2, 2)` the same sum for the blend without and with the deep correction.
        trust: how much the corrected law counts beside the uncorrected one, 0 to 1.
        plain: `(m, cells)` the blend of the variants' laws.
        corrected: `(m, cells)` the same with the deep correction; equal to `plain` where there is none.
        early: how often run times fell into the lower tails of the laws told.
        context: `(m, …)` further inputs of the deep part.
    """

    base: TrendBelief
    shared: Shared
    atoms: Atoms
    common: Tally
    crowd: float
    everybody: FloatArray
    levels: FloatArray
    rates: Rates
    laws: FloatArray
    cross: FloatArray
    scored: float
    weights: FloatArray
    deep_cross: FloatArray
    trust: float
    plain: FloatArray
    corrected: FloatArray
    early: Early
    context: Context


def nothing(cells: Cells) -> BayesBelief:
    """Return a belief about no workers."""
    size = len(VARIANTS)
    return BayesBelief(
        base=first(cells),
        shared=Shared.nothing(),
        atoms=Atoms.nothing(),
        common=Tally.empty(COUNT),
        crowd=1.0,
        everybody=np.full(COUNT, 1.0 / COUNT),
        levels=np.zeros((0, COUNT)),
        rates=Rates.first(),
        laws=np.zeros((size, 0, COUNT)),
        cross=np.zeros((size, size)),
        scored=0.0,
        weights=np.full(size, 1.0 / size),
        deep_cross=FIRST_TRUST,
        trust=1.0,
        plain=np.zeros((0, COUNT)),
        corrected=np.zeros((0, COUNT)),
        early=Early.nothing(),
        context=Context.of(0),
    )


def prepared(belief: BayesBelief, seen: RunTimes) -> BayesBelief:
    """Return the belief with rows for all workers in `seen`, and with its unit near their run times."""
    belief = _moved(belief, seen)
    base = admitted(belief.base, seen.workers)
    if base is belief.base:
        return belief
    known = np.isin(base.ids, belief.base.ids)
    at: IntArray = np.searchsorted(belief.base.ids, base.ids[known])
    count = len(base.ids)

    def grown(old: FloatArray) -> FloatArray:
        """Add rows for new workers, filled with the law of all."""
        out = np.broadcast_to(belief.everybody, (*old.shape[:-2], count, COUNT)).copy()
        out[..., known, :] = old[..., at, :]
        return out

    return replace(
        belief,
        base=base,
        levels=grown(belief.levels),
        laws=grown(belief.laws),
        plain=grown(belief.plain),
        corrected=grown(belief.corrected),
        context=belief.context.grown(known, at),
    )


def _moved(belief: BayesBelief, seen: RunTimes) -> BayesBelief:
    """Return the belief in a unit that follows the run times once they are too far off for a factor.

    Laws hold at factor 1 and stay as they are; the factors make up for the move.
    """
    base = belief.base
    if not len(base.ids) or seen.late:
        return belief
    rows = np.minimum(np.searchsorted(base.ids, seen.workers), len(base.ids) - 1)
    told = seen.observed & (base.ids[rows] == seen.workers) & (base.last_cell[rows] != NEVER)
    if not told.any():
        return belief
    off = np.median(base.cells.anywhere(seen.seconds[told]) - base.levels[rows[told]])
    if abs(off) <= TOO_FAR:
        return belief
    octaves = int(np.floor(off / PER_OCTAVE + 0.5))
    return replace(
        belief,
        base=replace(base, cells=base.cells.moved(octaves)),
        shared=belief.shared.moved(octaves * PER_OCTAVE),
    )
