"""All that `bayes` believes, and how that belief grows with workers and follows the scale of time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tailcut.forecast.bayes.context import Context
from tailcut.forecast.bayes.levels import Rates
from tailcut.forecast.trend.belief import TrendBelief, admitted, first, recentred
from tailcut.forecast.trend.cells import COUNT, PER_OCTAVE, Cells, shift_columns
from tailcut.forecast.trend.own import Tally
from tailcut.types import FloatArray, IntArray, RunTimes

VARIANTS = ("own", "level", "shape")
"""Whose laws are blended: each worker's own past, the filter over levels, everybody's shape at its level."""
FIRST_TRUST = 10.0 * np.array([[0.55, 0.50], [0.50, 0.45]])
"""As if the deep correction had been the better by a fifth for ten rounds: it knows first rounds best."""


@dataclass(frozen=True, slots=True, eq=False)
class BayesBelief:
    """Arrays over known workers are aligned with `base.ids`.

    Attributes:
        base: cells, workers, own empirical laws, and the factors that groups share.
        common: `(cells,)` events and exposure of all workers at factor 1.
        crowd: workers in the last whole round.
        everybody: `(cells,)` the law that `common` makes.
        levels: `(m, cells)` belief about each worker's level in the last round.
        rates: how levels move and how far run times lie from them.
        laws: `(variants, m, cells)` each variant's law of the next run times at factor 1.
        cross: `(variants, variants)` discounted sum of cross scores, see `blend`.
        scored: discounted number of rounds in it.
        weights: `(variants,)` how much each variant counts.
        deep_cross: `(2, 2)` the same sum for the blend without and with the deep correction.
        trust: how much the corrected law counts beside the uncorrected one, 0 to 1.
        plain: `(m, cells)` the blend of the variants' laws.
        corrected: `(m, cells)` the same with the deep correction; the same where there is none.
        context: `(m, …)` what the deep part reads beside all this.
    """

    base: TrendBelief
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
    context: Context


def nothing(cells: Cells) -> BayesBelief:
    """A belief about nobody."""
    size = len(VARIANTS)
    return BayesBelief(
        base=first(cells),
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
        context=Context.of(0),
    )


def prepared(belief: BayesBelief, seen: RunTimes) -> BayesBelief:
    """The belief with room for everybody in `seen`, and with its unit where run times are."""
    belief = _moved(belief, recentred(belief.base, seen))
    base = admitted(belief.base, seen.workers)
    if base is belief.base:
        return belief
    known = np.isin(base.ids, belief.base.ids)
    at: IntArray = np.searchsorted(belief.base.ids, base.ids[known])
    count = len(base.ids)

    def grown(old: FloatArray) -> FloatArray:
        """Of newcomers nothing is known but the law of all."""
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


def _moved(belief: BayesBelief, base: TrendBelief) -> BayesBelief:
    """The belief in the unit of `base`."""
    octaves = round(float(np.log2(base.cells.unit / belief.base.cells.unit)))
    if octaves == 0:
        return belief
    by = octaves * PER_OCTAVE
    return replace(
        belief,
        base=base,
        common=Tally(shift_columns(belief.common.events, by), shift_columns(belief.common.censored, by)),
        everybody=shift_columns(belief.everybody, by),
        levels=shift_columns(belief.levels, by),
        laws=shift_columns(belief.laws, by),
        plain=shift_columns(belief.plain, by),
        corrected=shift_columns(belief.corrected, by),
    )
