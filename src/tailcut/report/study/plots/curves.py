"""Lines along a run: means over seeds on a common grid, with the band from the least to the most."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tailcut.study.grid.collect import Track
from tailcut.study.grid.facts import ArmFacts, CaseFacts
from tailcut.types import FloatArray

POINTS = 160
"""Most points of a line."""
WINDOWS = 60
"""Most windows in which values between evaluations are averaged."""
FARTHEST = 4.0
"""Limit of the time axis as a multiple of the median arm's end: one slow arm must not squeeze the others."""
WIDE = 20.0
"""Ratio of the largest to the smallest value above which an axis is logarithmic."""


class Curve(NamedTuple):
    """The line of one arm; arrays are `(points,)`, and `at` is in seconds or updates."""

    arm: str
    at: FloatArray
    mean: FloatArray
    least: FloatArray
    most: FloatArray


class CurvesPlot(NamedTuple):
    """Lines of several arms.

    `end` is the end of the axis, and `cut` the number of arms that continue beyond it. `truth` holds the true
    values of the same arms, drawn as thin lines.
    """

    curves: tuple[Curve, ...]
    truth: tuple[Curve, ...]
    end: float
    cut: int
    log_x: bool
    log_y: bool


def figure_plot(case: CaseFacts, what: str, along: str) -> CurvesPlot:
    """Return the target's figure, or the loss, at the evaluations of the net.

    Args:
        case: the task and cluster.
        what: `figure` or `loss`.
        along: `seconds` or `updates`.
    """
    ends = {facts.arm: max(_ends(facts, along), default=0.0) for facts in case.arms}
    end = _axis_end(ends.values()) if along == "seconds" else max(ends.values(), default=0.0)
    curves = tuple(
        curve
        for facts in case.arms
        if (curve := _looked(facts, what, along, min(end, ends[facts.arm]))) is not None
    )
    log_x = along == "updates" and _far_apart([value for value in ends.values() if value > 0])
    cut = sum(value > end for value in ends.values())
    return CurvesPlot(curves, (), end, cut, log_x, _log_y(curves))


def between_plot(case: CaseFacts, what: str) -> CurvesPlot:
    """Return window means of a value between evaluations (`cutoff`, `rate` or `noise`), over virtual time.

    A line ends when more than half of its runs have ended. Noise scales are averaged geometrically.
    """
    ends = {facts.arm: max(_ends(facts, "seconds"), default=0.0) for facts in case.arms}
    end = _axis_end(ends.values())
    curves = _all_windows(case, what, end)
    shown = {curve.arm for curve in curves}
    true = _all_windows(case, "true_noise", end) if what == "noise" else ()
    truth = tuple(curve for curve in true if curve.arm in shown)
    cut = sum(value > end for value in ends.values())
    # The axis of a cutoff begins at 0, because a cutoff is a share of the workers.
    log_y = what == "noise" or (what == "rate" and _log_y(curves))
    return CurvesPlot(curves, truth, end, cut, False, log_y)


def window_means(ends: FloatArray, values: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the mean over each window of a value that is constant between evaluations.

    Args:
        ends: `(points,)` end of each interval; the first interval begins at 0.
        values: `(points,)` value in that interval, NaN where unknown.
        edges: `(windows + 1,)` edges of the windows.

    Returns:
        `(windows,)` means over the known parts, NaN where nothing is known.
    """
    known = np.isfinite(values)
    lengths = np.diff(ends, prepend=0.0)
    at = np.concatenate([[0.0], ends])
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0) * lengths)])
    spans = np.concatenate([[0.0], np.cumsum(np.where(known, lengths, 0.0))])
    total, span = np.diff(np.interp(edges, at, sums)), np.diff(np.interp(edges, at, spans))
    # Smaller spans are rounding errors of a difference of two large sums.
    seen = span > 1e-9 * max(float(edges[-1]), 1e-300)
    return np.where(seen, total / np.where(seen, span, 1.0), np.nan)


def _looked(facts: ArmFacts, what: str, along: str, end: float) -> Curve | None:
    """Interpolate linearly between evaluations; a run that has ended keeps its last value."""
    runs = []
    for track in facts.tracks:
        known = np.isfinite(getattr(track, what))
        if known.any():
            runs.append((getattr(track, along)[known], getattr(track, what)[known]))
    if not runs:
        return None
    start = max(float(at[0]) for at, _ in runs)
    grid = _grid(start, max(end, start))
    values = np.array([np.interp(grid, at, seen) for at, seen in runs])
    return Curve(facts.arm, grid, values.mean(axis=0), values.min(axis=0), values.max(axis=0))


def _all_windows(case: CaseFacts, what: str, end: float) -> tuple[Curve, ...]:
    found = (_windowed(facts, what, end) for facts in case.arms)
    return tuple(curve for curve in found if curve is not None)


def _windowed(facts: ArmFacts, what: str, end: float) -> Curve | None:
    ends = sorted(_ends(facts, "seconds"), reverse=True)
    stop = min(end, ends[(len(ends) - 1) // 2]) if ends else 0.0
    if stop <= 0.0:
        return None
    there, back = _scale(what)
    longest = max(len(track.seconds) for track in facts.tracks)
    edges = np.linspace(0.0, stop, min(WINDOWS, longest) + 1)
    rows = [window_means(track.seconds, there(getattr(track, what)), edges) for track in facts.tracks]
    values = np.array([row for row in rows if np.isfinite(row).any()])
    if not len(values):
        return None
    seen = np.isfinite(values).any(axis=0)
    middle, values = 0.5 * (edges[1:] + edges[:-1])[seen], values[:, seen]
    mean, least, most = np.nanmean(values, axis=0), np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    return Curve(facts.arm, middle, back(mean), back(least), back(most))


def _scale(what: str) -> tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray]]:
    """Return the transform for averaging and its inverse: logarithms for noise scales, which span decades."""
    if "noise" not in what:
        return (lambda values: values), (lambda values: values)
    return _log, lambda values: np.exp(values)


def _log(values: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.log(np.where(values > 0.0, values, np.nan))


def _grid(start: float, end: float) -> FloatArray:
    if start == end:
        return np.array([start])
    # The grid is dense at first, where values change most, and evenly spaced later.
    near = np.geomspace(start, end, POINTS // 3) if start > 0 else np.empty(0)
    grid = np.unique(np.concatenate([near, np.linspace(start, end, POINTS - len(near))]))
    clipped: FloatArray = np.clip(grid, start, end)
    return clipped


def _ends(facts: ArmFacts, along: str) -> list[float]:
    tracks: Sequence[Track] = facts.tracks
    return [float(getattr(track, along)[-1]) for track in tracks if len(track.seconds)]


def _axis_end(ends: Iterable[float]) -> float:
    known = sorted(end for end in ends if end > 0)
    if not known:
        return 1.0
    return max(end for end in known if end <= FARTHEST * known[(len(known) - 1) // 2])


def _far_apart(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) > WIDE


def _log_y(curves: Sequence[Curve]) -> bool:
    """Return whether the means are positive and their range calls for a logarithmic axis."""
    values = [float(edge(curve.mean)) for curve in curves for edge in (np.min, np.max)]
    return all(math.isfinite(value) for value in values) and _far_apart(values)
