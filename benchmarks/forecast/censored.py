"""Rounds closed when 70 % are in, a few late workers let finish; what forecasters make of the tail they hardly see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from tailcut.forecast.base import Forecaster
from tailcut.study.forecast_law import marginal_survival
from tailcut.table import Table
from tailcut.types import FloatArray, Forecast, IntArray, Roster, RunTimes

IN_TIME = 0.7
LEVELS = (0.95, 0.99)
GRID = 4000


def closed_rounds(table: Table, finish: float, rng: np.random.Generator) -> Iterator[tuple[RunTimes, ...]]:
    """Yield the run times that each round reports, late reports first, as `Policy.learn` receives them.

    A round closes when 70 % of its workers have arrived. Each cut worker finishes with probability `finish`:
    its own round does not report it, it skips the next round, and that round reports its run time late. The
    other cut workers are censored at the close.

    Args:
        table: `(rounds, n)` true run times, whole.
        finish: probability that a cut worker finishes.
        rng: generator that draws the workers that finish.
    """
    finishing = _nothing()
    for row in table.seconds:
        free = np.setdiff1d(np.arange(table.workers), finishing.workers)
        seconds = row[free]
        close = float(np.sort(seconds)[int(np.ceil(IN_TIME * len(free))) - 1])
        seen = seconds <= close
        finishes = ~seen & (rng.random(len(free)) < finish)
        told = free[~finishes]
        taught = RunTimes(told, np.minimum(row[told], close), seen[~finishes], table.nodes[told])
        yield (finishing, taught) if len(finishing) else (taught,)
        late = free[finishes]
        finishing = RunTimes(
            late, row[late], np.ones(len(late), dtype=np.bool_), table.nodes[late], late=True
        )


def _nothing() -> RunTimes:
    nobody: IntArray = np.empty(0, dtype=np.int64)
    return RunTimes(nobody, np.empty(0), np.empty(0, dtype=np.bool_), nobody, late=True)


@final
@dataclass(frozen=True, slots=True)
class CutIsMissing(Forecaster[Any]):
    """A wrapper that hides cut workers from the inner forecaster, as if they had been absent."""

    inner: Forecaster[Any]

    def start(self) -> Any:
        """Return the first belief of the inner forecaster."""
        return self.inner.start()

    def learn(self, belief: Any, seen: RunTimes) -> Any:
        """Learn what was observed."""
        of = seen.observed
        kept = replace(
            seen, workers=seen.workers[of], seconds=seen.seconds[of], observed=of[of], nodes=seen.nodes[of]
        )
        return self.inner.learn(belief, kept)

    def forecast(self, belief: Any, roster: Roster) -> Forecast | None:
        """Return the forecast of the inner forecaster."""
        return self.inner.forecast(belief, roster)


def recovered(
    table: Table, forecaster: Forecaster[Any], finish: float, measured: int, seed: int, every: int = 2
) -> FloatArray:
    """Return quantiles of the mean predictive marginal over those of the true run times, `(len(LEVELS),)`.

    The rounds are the same for both; the arguments are those of `predictive`.
    """
    times, survival = predictive(table, forecaster, finish, measured, seed, every)
    truth = np.quantile(table.seconds[-measured:], LEVELS)
    quantiles: FloatArray = np.interp(LEVELS, 1.0 - survival, times) / truth
    return quantiles


def predictive(
    table: Table, forecaster: Forecaster[Any], finish: float, measured: int, seed: int, every: int = 2
) -> tuple[FloatArray, FloatArray]:
    """Return times and survival, `(GRID,)`, of the predictive marginal, a mean over workers and last rounds.

    Args:
        table: `(rounds, n)` true run times in seconds, without missing values.
        forecaster: the forecaster, which begins without reports.
        finish: probability that a cut worker finishes.
        measured: number of last rounds that count.
        seed: seed of the draw of workers that finish.
        every: distance in rounds between two forecasts.
    """
    truth = table.seconds[-measured:]
    times = np.geomspace(0.5 * truth.min(), 4.0 * truth.max(), GRID)
    total, forecasts = np.zeros(GRID), 0
    belief = forecaster.start()
    roster = Roster.of(table.workers, table.nodes)
    for row, taught in enumerate(closed_rounds(table, finish, np.random.default_rng([seed, 7]))):
        if row >= table.rounds - measured and row % every == 0:
            forecast = forecaster.forecast(belief, roster)
            if forecast is not None:
                total += mean_survival(forecast, times)
                forecasts += 1
        for seen in taught:
            belief = forecaster.learn(belief, seen)
    return times, total / forecasts


def mean_survival(forecast: Forecast, times: FloatArray) -> FloatArray:
    """`(len(times),)` survival of a worker picked at random; beyond the grid's last time T it is S(T)·T/t."""
    curve = marginal_survival(forecast).mean(axis=0)
    last = forecast.times[-1]
    inside = np.interp(times, np.concatenate([[0.0], forecast.times]), np.concatenate([[1.0], curve]))
    out: FloatArray = np.where(times > last, curve[-1] * last / np.maximum(times, last), inside)
    return out
