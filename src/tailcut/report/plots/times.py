"""The distribution of run times, and the times at which each policy closes its rounds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tailcut.report.labels import labels
from tailcut.report.plots.over_time import usable
from tailcut.report.ranking import everyone, policies
from tailcut.study.facts import SourceFacts
from tailcut.types import FloatArray

MOST_BINS = 64


class Closing(NamedTuple):
    """The times at which a policy closes its rounds, in seconds: mean, and range of the middle 80 %."""

    name: str
    low: float
    mean: float
    high: float


class TimesPlot(NamedTuple):
    """A histogram over logarithmic bins: `edges` has one entry more than `shares`, which sum to 1.

    Both are empty where no run time is known. `policies` of the `closings` come first, bounds after them.
    """

    edges: FloatArray
    shares: FloatArray
    closings: tuple[Closing, ...]
    policies: int
    low: float
    high: float


def times_plot(source: SourceFacts) -> TimesPlot:
    """Return the run times of all workers and rounds, and the closes of each policy."""
    known = usable(source.seconds)
    known = known[np.isfinite(known)]
    closes = {facts.policy: _finite_closes(source, facts.policy) for facts in everyone(source)}
    short = labels(closes)
    closings = tuple(_closing(short[name], times) for name, times in closes.items() if times.size)
    count = sum(closes[facts.policy].size > 0 for facts in policies(source))
    edges, shares = _histogram(known)
    marks = [*edges, *(mark for closing in closings for mark in closing[1:])]
    # Leave some room at both ends, so that no mark touches the frame.
    low, high = (min(marks) / 1.06, max(marks) * 1.06) if marks else (0.5, 2.0)
    return TimesPlot(edges, shares, closings, count, float(low), float(high))


def log_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Return round numbers from `low` to `high` for a logarithmic axis, at least 2 and at most about `most`.

    Example:
        >>> log_ticks(0.8, 30)
        [1.0, 2.0, 5.0, 10.0, 20.0]
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for marks in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        ticks = [mark * 10.0**power for power in decades for mark in marks]
        ticks = [_clean(tick) for tick in ticks if low <= tick <= high]
        if 3 <= len(ticks) <= most:
            return ticks
    if len(ticks) > most:
        return ticks[:: math.ceil(len(ticks) / most)]
    return _even_ticks(low, high)


def _even_ticks(low: float, high: float) -> list[float]:
    """Return evenly spaced round numbers, for a range too narrow for decades."""
    power = 10.0 ** math.floor(math.log10((high - low) / 2))
    for step in (5 * power, 2 * power, power):
        ticks = [_clean(place * step) for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if len(ticks) >= 3:
            return ticks
    return [low, high]


def _clean(value: float) -> float:
    return float(f"{value:.12g}")


def _finite_closes(source: SourceFacts, policy: str) -> FloatArray:
    closes = usable(source.closes.get(policy, np.empty(0)))
    return closes[np.isfinite(closes)]


def _closing(label: str, closes: FloatArray) -> Closing:
    low, high = (float(edge) for edge in np.percentile(closes, [10, 90]))
    return Closing(label, low, float(closes.mean()), high)


def _histogram(known: FloatArray) -> tuple[FloatArray, FloatArray]:
    if not known.size:
        return np.empty(0), np.empty(0)
    low, high = float(known.min()), float(known.max())
    if high <= 1.001 * low:
        low, high = low / 1.01, high * 1.01
    # With few values, narrow bins would be mostly empty.
    bins = min(MOST_BINS, 4 + int(2 * math.sqrt(known.size)))
    edges = np.geomspace(low, high, bins + 1)
    # Rounding in geomspace must not lose the two extremes.
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)
    counts, _ = np.histogram(known, edges)
    return edges, counts / known.size
