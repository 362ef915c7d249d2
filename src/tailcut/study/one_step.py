"""One forecaster through one table: forecast a round, score the forecast, learn the round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from tailcut.forecast.base import Forecaster
from tailcut.study import scores
from tailcut.study.lessons import Lesson
from tailcut.table import Table
from tailcut.types import BoolArray, FloatArray, Forecast, IntArray, Seconds


@dataclass(frozen=True, slots=True, eq=False)
class Trail:
    """The scores of each round, warm-up included. Rows of NaN are rounds without a score.

    Attributes:
        log_score: `(rounds,)` log score in nats per worker.
        order_crps: `(rounds, positions)` CRPS of order statistics, in seconds.
        order_truth: `(rounds, positions)` the order statistics themselves, seconds.
        close_crps: `(rounds,)` CRPS up to the close over the close, mean of the workers.
        in50: `(rounds,)` number of run times in the central 50 % interval.
        in90: `(rounds,)` number of run times in the central 90 % interval.
        known: `(rounds,)` number of run times that are known.
        pit: `(rounds, bins)` number of run times in each bin of the PIT histogram.
        ms: `(rounds,)` milliseconds for learning and forecasting.
    """

    log_score: FloatArray
    order_crps: FloatArray
    order_truth: FloatArray
    close_crps: FloatArray
    in50: FloatArray
    in90: FloatArray
    known: FloatArray
    pit: FloatArray
    ms: FloatArray

    @staticmethod
    def empty(rounds: int) -> Trail:
        """Return a trail of so many rounds, filled with NaN."""

        def room(*shape: int) -> FloatArray:
            return np.full((rounds, *shape), np.nan)

        return Trail(
            room(),
            room(scores.POSITIONS),
            room(scores.POSITIONS),
            room(),
            room(),
            room(),
            room(),
            room(scores.BINS),
            room(),
        )


def one_step_ahead(
    table: Table, forecaster: Forecaster[Any], lessons: Sequence[Lesson], seed: int = 0, skip: int = 0
) -> Trail:
    """Forecast every round from those before it, all workers free, and score against the true run times.

    Args:
        table: the true run times.
        forecaster: forecasts from its own belief only.
        lessons: lesson to learn after each round, see `tailcut.study.lessons`.
        seed: seed of the randomized PIT and of the draws; use the same for forecasters that are compared.
        skip: number of first rounds that are learned, not scored.
    """
    trail = Trail.empty(len(lessons))
    arrivals = table.arrivals()
    horizon = float(table.seconds[table.observed].max())
    belief = forecaster.start()
    for row, lesson in enumerate(lessons):
        roster = table.roster(row)
        began = perf_counter()
        forecast = forecaster.forecast(belief, roster)
        took = perf_counter() - began
        if forecast is not None and row >= skip:
            rng = np.random.default_rng([seed, row])
            _score(trail, row, forecast, arrivals[row, roster.workers], lesson, horizon, rng)
        began = perf_counter()
        for seen in (*lesson.reports, lesson.shown):
            if len(seen):
                belief = forecaster.learn(belief, seen)
        trail.ms[row] = 1e3 * (took + perf_counter() - began)
    return trail


def _score(
    trail: Trail,
    row: int,
    forecast: Forecast,
    arrivals: FloatArray,
    lesson: Lesson,
    horizon: Seconds,
    rng: np.random.Generator,
) -> None:
    """Fill one row of the trail."""
    shown, observed = _aligned(forecast.workers, lesson)
    trail.log_score[row] = scores.log_score(forecast, shown, observed)
    trail.order_crps[row], trail.order_truth[row] = scores.order_scores(forecast, arrivals, horizon, rng)
    trail.close_crps[row] = scores.close_crps(forecast, arrivals, lesson.close).mean()
    came = np.isfinite(arrivals)
    pit = scores.randomised_pit(forecast, arrivals, rng)[came]
    trail.in50[row] = scores.within(pit, 0.5).sum()
    trail.in90[row] = scores.within(pit, 0.9).sum()
    trail.known[row] = len(pit)
    trail.pit[row] = scores.histogram(pit)


def _aligned(workers: IntArray, lesson: Lesson) -> tuple[FloatArray, BoolArray]:
    """Return what the round showed of each worker: `(n,)` seconds, NaN for nothing, and whether observed."""
    seconds, observed = np.full(len(workers), np.nan), np.zeros(len(workers), dtype=np.bool_)
    place = np.minimum(np.searchsorted(workers, lesson.shown.workers), len(workers) - 1)
    here = workers[place] == lesson.shown.workers
    seconds[place[here]] = lesson.shown.seconds[here]
    observed[place[here]] = lesson.shown.observed[here]
    return seconds, observed
