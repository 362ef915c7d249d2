"""The forecaster `bayes`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.forecast.base import Forecaster
from tailcut.forecast.bayes import blend, levels, pool
from tailcut.forecast.bayes.belief import VARIANTS, BayesBelief, nothing, prepared
from tailcut.forecast.bayes.context import features
from tailcut.forecast.bayes.deep import Deep
from tailcut.forecast.bayes.shape import shape_laws
from tailcut.forecast.carry import carry_over
from tailcut.forecast.trend import own as law_of
from tailcut.forecast.trend.cells import COUNT, Cells
from tailcut.forecast.trend.trend import Trend, factors_after, plain_position, put, tabulated
from tailcut.types import FloatArray, Forecast, IntArray, Roster, RunTimes, Weights

MOST_SCORED = 500
"""Workers by which variants are scored; of twice as many or more every second, third, … counts."""


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
        """Nothing believed."""
        return None

    def learn(self, belief: BayesBelief | None, seen: RunTimes) -> BayesBelief | None:
        """Follow what groups share, score the variants on what came, then follow each worker."""
        if belief is None:
            if not seen.observed.any():
                return None
            belief = nothing(Cells.around(float(np.median(seen.seconds[seen.observed]))))
        belief = prepared(belief, seen)
        rows = np.searchsorted(belief.base.ids, seen.workers)
        laws = belief.laws[:, rows]
        plain, corrected = belief.plain[rows], belief.corrected[rows]
        law = _trusted(belief.trust, plain, corrected)
        if self.scenarios:
            belief = replace(
                belief,
                base=replace(belief.base, factors=factors_after(belief.base, rows, law, seen, homes=True)),
            )
        # Everything from here on is at factor 1.
        position = plain_position(belief.base, seen)
        if not seen.late:
            belief = self._scored(belief, laws, plain, corrected, position, seen)
        belief = replace(belief, context=belief.context.after(rows, plain, position, seen))
        return self._followed(belief, rows, position, seen)

    def _scored(
        self,
        belief: BayesBelief,
        laws: FloatArray,
        plain: FloatArray,
        corrected: FloatArray,
        position: FloatArray,
        seen: RunTimes,
    ) -> BayesBelief:
        """How well each variant, and the deep correction, had foreseen the round."""
        where = belief.base.cells.position(seen.seconds)
        close = np.clip(position + (where.max() - where), 0.0, COUNT - 1.0)
        # Of thousands of workers every so many tell the weights as well as all.
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

    def _followed(
        self, belief: BayesBelief, rows: IntArray, position: FloatArray, seen: RunTimes
    ) -> BayesBelief:
        """Each worker's own part, and the law of all."""
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
        everybody = pool.law(common)
        base = self.trend.followed(belief.base, rows, position, seen.observed)
        filtered = levels.predictive(rates, after, base.own[rows], everybody)
        mine = np.stack([base.next[rows], filtered, shape_laws(base, rows)])
        plain = blend.blended(belief.weights, mine)
        corrected = plain
        if self.deep is not None:
            read = features(belief.context, rates, rows, plain, everybody, belief.crowd)
            corrected = self.deep.corrected(read, plain)
        # Workers of whom nothing was heard keep their laws.
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
        """One scenario per likely factor of each group; a worker never heard of has the law of all."""
        if belief is None:
            return None
        rows = np.minimum(np.searchsorted(belief.base.ids, roster.workers), len(belief.base.ids) - 1)
        law = _trusted(belief.trust, belief.plain[rows], belief.corrected[rows])
        law[belief.base.ids[rows] != roster.workers] = belief.everybody
        table = tabulated(belief.base, law, roster, self.trend.grid, self.scenarios, homes=True)
        return carry_over(table, roster.busy)

    def weights(self, belief: BayesBelief | None) -> Weights:
        """Of the variants, and of the deep correction beside them."""
        if belief is None:
            return ()
        blended = tuple(zip(VARIANTS, belief.weights.tolist(), strict=True))
        return blended if self.deep is None else (*blended, ("deep", belief.trust))


def _trusted(trust: float, plain: FloatArray, corrected: FloatArray) -> FloatArray:
    """The law to go by."""
    out: FloatArray = (1.0 - trust) * plain
    out += trust * corrected
    return out


def _put_laws(old: FloatArray, rows: IntArray, new: FloatArray) -> FloatArray:
    """`(variants, m, cells)` with the laws of some workers replaced."""
    if len(rows) == old.shape[1]:
        return new
    out = old.copy()
    out[:, rows] = new
    return out
