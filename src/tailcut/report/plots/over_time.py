"""Plots along the rounds: the cutoff of each policy, and the run times of every worker as a map."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tailcut.report.labels import labels
from tailcut.report.ranking import bounds, policies
from tailcut.study.facts import SourceFacts
from tailcut.types import FloatArray, IntArray

MOST_PANELS = 8
MOST_POINTS = 240
MAP_ROUNDS, MAP_WORKERS = 400, 200


class Panel(NamedTuple):
    """One policy's cutoff: `(points,)` rounds and the rolling mean of gradients used there."""

    name: str
    rounds: FloatArray
    cutoff: FloatArray


class CutoffsPlot(NamedTuple):
    """One panel per policy, best policy first.

    `reference` is the clairvoyant's cutoff, drawn behind each; each mean covers `window` rounds; `left_out`
    is the number of policies without a panel.
    """

    panels: tuple[Panel, ...]
    reference: Panel | None
    workers: int
    rounds: int
    window: int
    left_out: int


class MapPlot(NamedTuple):
    """A map of run times, `(rows of workers, columns of rounds)` seconds, NaN where all are absent.

    Each cell covers `per_row` workers by `per_column` rounds and shows the slowest or the median of them, as
    in `merged`. Colors run from `low` to `high` seconds; values outside take the color of the end.
    """

    cells: FloatArray
    workers: int
    rounds: int
    per_row: int
    per_column: int
    merged: str
    low: float
    high: float


def cutoffs_plot(source: SourceFacts) -> CutoffsPlot:
    """Return the cutoff over time of the best policies, or of bounds if there are no policies."""
    some = [facts.policy for facts in policies(source) if facts.policy in source.cutoffs]
    some = some or [facts.policy for facts in bounds(source) if facts.policy in source.cutoffs]
    longest = max((len(source.cutoffs[name]) for name in some), default=0)
    window = max(1, longest // 40)
    reference = source.cutoffs.get("clairvoyant")
    behind = None if reference is None else _panel("clairvoyant", reference, window)
    short = labels(some)
    panels = tuple(_panel(short[name], source.cutoffs[name], window) for name in some[:MOST_PANELS])
    return CutoffsPlot(panels, behind, source.workers, longest, window, max(0, len(some) - MOST_PANELS))


def map_plot(source: SourceFacts) -> MapPlot:
    """Return the map of run times by worker and round."""
    seconds = usable(source.seconds).T
    workers, rounds = seconds.shape
    per_row, per_column = math.ceil(workers / MAP_WORKERS), math.ceil(rounds / MAP_ROUNDS)
    # Merge a few cells to the slowest; among many cells the slowest would make all blocks look alike.
    merged = "slowest" if per_row * per_column <= 4 else "median"
    cells = _merge(seconds, max(1, per_row), max(1, per_column), merged)
    low, high = _range(cells)
    return MapPlot(cells, workers, rounds, max(1, per_row), max(1, per_column), merged, low, high)


def usable(seconds: FloatArray) -> FloatArray:
    """Return `seconds` with NaN for values that are not finite and > 0, which have no logarithm."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(seconds) & (seconds > 0), seconds, np.nan)


def rolling_mean(values: FloatArray, window: int) -> FloatArray:
    """Return the `(n,)` mean of up to `window` values around each value; fewer at the ends."""
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    here = np.arange(len(values))
    first = np.maximum(here - window // 2, 0)
    last = np.minimum(here - window // 2 + window, len(values))
    mean: FloatArray = (sums[last] - sums[first]) / (last - first)
    return mean


def _panel(label: str, cutoffs: IntArray, window: int) -> Panel:
    smooth = rolling_mean(cutoffs.astype(np.float64), window)
    step = max(1, math.ceil(len(smooth) / MOST_POINTS))
    rounds = np.arange(1, len(smooth) + 1, dtype=np.float64)
    return Panel(label, rounds[::step], smooth[::step])


def _merge(grid: FloatArray, per_row: int, per_column: int, merged: str) -> FloatArray:
    """Merge blocks of `per_row` by `per_column` cells into one cell each, ignoring NaN."""
    rows, columns = math.ceil(grid.shape[0] / per_row), math.ceil(grid.shape[1] / per_column)
    padded = np.full((rows * per_row, columns * per_column), np.nan)
    padded[: grid.shape[0], : grid.shape[1]] = grid
    blocks = padded.reshape(rows, per_row, columns, per_column).swapaxes(1, 2).reshape(rows, columns, -1)
    # NaN sorts last, so that the known values of a block are its first ones.
    blocks = np.sort(blocks, axis=2)
    known = np.isfinite(blocks).sum(axis=2)
    place = np.maximum(known - 1, 0) if merged == "slowest" else np.maximum(known - 1, 0) // 2
    return np.take_along_axis(blocks, place[:, :, None], axis=2)[:, :, 0]


def _range(cells: FloatArray) -> tuple[float, float]:
    known = cells[np.isfinite(cells)]
    if not known.size:
        return 1.0, 10.0
    low, high = (float(edge) for edge in np.percentile(known, [0.5, 99.5]))
    return (low, high) if high > 1.02 * low else (low / 1.1, high * 1.1)
