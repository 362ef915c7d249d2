"""Plots of a backtest: PIT histograms, coverage, coverage over time, scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tailcut.report.backtest.columns import everyone, forecasters
from tailcut.report.labels import labels
from tailcut.report.plots.bars import Rows
from tailcut.study.backtest_facts import BacktestFacts
from tailcut.study.facts import Spread
from tailcut.types import FloatArray

MOST_WINDOWS = 40
"""Most points of a line over the rounds; each is the mean of one window."""


class PitPlot(NamedTuple):
    """One histogram per row: `shares` is `(rows, bins)`, in multiples of the right share, or NaN."""

    rows: Rows
    shares: FloatArray


class CoverPlot(NamedTuple):
    """Share of the run times in the 50 and 90 % intervals: mean, least and most over the seeds, `(rows, 2)` each."""

    rows: Rows
    mean: FloatArray
    least: FloatArray
    most: FloatArray


class CoverTimePlot(NamedTuple):
    """Coverage of the 90 % interval along the rounds of the first seed.

    `at` is `(windows,)` the middle of each window, counted from round 1; `shares` is `(rows, windows)`, NaN
    without a forecast; `window` the rounds in one.
    """

    rows: Rows
    at: FloatArray
    shares: FloatArray
    window: int
    rounds: int


class ScorePlot(NamedTuple):
    """CRPS up to the close: mean, least and most over the seeds, `(rows,)` each."""

    rows: Rows
    mean: FloatArray
    least: FloatArray
    most: FloatArray
    whiskers: bool


def rows(source: BacktestFacts) -> Rows:
    """Return the rows that all of these plots share: forecasters, best first, then bounds."""
    found = [facts.name for facts in everyone(source)]
    short = labels(found)
    return Rows(tuple(short[name] for name in found), len(forecasters(source)))


def pit_plot(source: BacktestFacts) -> PitPlot:
    """Return histograms of the randomized PIT."""
    shares = np.array([facts.pit for facts in everyone(source)], dtype=np.float64)
    empty = shares.sum(axis=1, keepdims=True) == 0.0
    return PitPlot(rows(source), np.where(empty, np.nan, shares * shares.shape[1]))


def cover_plot(source: BacktestFacts) -> CoverPlot:
    """Return the coverage of both intervals for every forecaster."""
    pairs = [(facts.cover50, facts.cover90) for facts in everyone(source)]
    return CoverPlot(
        rows(source),
        np.array([[spread.mean for spread in pair] for pair in pairs]),
        np.array([[spread.least for spread in pair] for pair in pairs]),
        np.array([[spread.most for spread in pair] for pair in pairs]),
    )


def cover_time_plot(source: BacktestFacts) -> CoverTimePlot:
    """Return the coverage in windows of equal length; remaining rounds belong to the last window."""
    scored = source.rounds - source.warmup
    window = max(1, -(-scored // MOST_WINDOWS))
    starts = np.arange(source.warmup, source.rounds - window + 1, window)
    parts = [slice(start, start + window) for start in starts[:-1]] + [slice(starts[-1], source.rounds)]
    shares = [[_mean(facts.cover90_by_round[part]) for part in parts] for facts in everyone(source)]
    middle = np.array([0.5 * (part.start + 1 + part.stop) for part in parts])
    return CoverTimePlot(rows(source), middle, np.array(shares), window, source.rounds)


def score_plot(source: BacktestFacts) -> ScorePlot:
    """Return the score by which rows are ordered, the CRPS up to the close."""
    spreads: list[Spread] = [facts.close_crps for facts in everyone(source)]
    return ScorePlot(
        rows(source),
        np.array([spread.mean for spread in spreads]),
        np.array([spread.least for spread in spreads]),
        np.array([spread.most for spread in spreads]),
        source.seeds > 1,
    )


def _mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
