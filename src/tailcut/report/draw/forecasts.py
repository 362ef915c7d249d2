"""Figures of a backtest."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tailcut.report.draw import canvas
from tailcut.report.draw.rows import rows_figure, rows_height
from tailcut.report.formats import figure as number
from tailcut.report.plots.bars import Rows
from tailcut.report.plots.forecasts import CoverPlot, CoverTimePlot, PitPlot, ScorePlot
from tailcut.study.backtest import NARROW, WIDE
from tailcut.types import FloatArray

TALLEST = 3.0
"""Height at which a histogram's bar is cut off, in multiples of the correct height."""


def draw_pits(plot: PitPlot) -> Figure:
    """Draw a histogram per row, two side by side; the line is the correct height of all bars."""
    figure, panels = _panels(plot.rows)
    bins = plot.shares.shape[1]
    edges = np.arange(bins) / bins
    for place, axes in enumerate(panels):
        shares = np.nan_to_num(plot.shares[place])
        axes.bar(edges, shares, width=0.92 / bins, align="edge", color=_colour(plot.rows, place), linewidth=0)
        axes.axhline(1.0, color=canvas.INK, linewidth=0.9)
        axes.set(xlim=(0, 1), ylim=(0, TALLEST))
        axes.set_xticks([0, 0.5, 1], ["0", "½", "1"])
        axes.set_yticks([0, 1, 2, 3], ["0", "1", "2", "3+"])
    figure.supxlabel("probability the forecast gave to no more than the run time", size=9, color=canvas.MUTED)
    return figure


def draw_covers(plot: CoverPlot) -> Figure:
    """Draw a dot per interval, with whiskers over the seeds; lines and a band show where dots should be."""
    figure, axes = rows_figure(plot.rows)
    places = np.arange(len(plot.rows.names))
    axes.axvspan(100 * NARROW, 100 * WIDE, color=canvas.RULE, alpha=0.5, linewidth=0)
    for interval, (level, colour) in enumerate(((50, canvas.STATIC), (90, canvas.BEST))):
        axes.axvline(level, color=colour, linestyle=(0, (5, 2)), linewidth=1.2)
        low, high = 100 * plot.least[:, interval], 100 * plot.most[:, interval]
        axes.hlines(places, low, high, color=colour, linewidth=1.6)
        axes.scatter(
            100 * plot.mean[:, interval], places, color=colour, s=30, zorder=3, label=f"{level} % interval"
        )
    axes.set_xlim(0, 101)
    axes.set_xlabel("per cent of the run times that the interval holds")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def draw_cover_times(plot: CoverTimePlot) -> Figure:
    """Draw the coverage of each row along the rounds; the band shows where the line should be."""
    figure, panels = _panels(plot.rows)
    for place, axes in enumerate(panels):
        axes.axhspan(100 * NARROW, 100 * WIDE, color=canvas.RULE, alpha=0.5, linewidth=0)
        colour = _colour(plot.rows, place)
        axes.plot(plot.at, 100 * plot.shares[place], color=colour, linewidth=1.4, marker=".", markersize=4)
        axes.set(xlim=(1, max(2, plot.rounds)), ylim=(0, 103))
        axes.set_yticks([0, 50, 90])
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True, min_n_ticks=1))
    figure.supxlabel("round", size=9, color=canvas.MUTED)
    figure.supylabel("per cent in the 90 % interval", size=9, color=canvas.MUTED)
    return figure


def draw_scores(plot: ScorePlot) -> Figure:
    """Draw bars from 0, with whiskers over the seeds; shorter is better."""
    figure, axes = rows_figure(plot.rows)
    places, bars = np.arange(len(plot.rows.names)), np.nan_to_num(plot.mean)
    colours = [_colour(plot.rows, place) for place in range(len(places))]
    axes.barh(places, bars, height=0.62, color=colours, linewidth=0)
    if plot.whiskers:
        ends = np.clip(np.nan_to_num([plot.mean - plot.least, plot.most - plot.mean]), 0.0, None)
        axes.errorbar(bars, places, xerr=ends, fmt="none", ecolor=canvas.INK, elinewidth=1.0, capsize=2.2)
    axes.set_xlim(0, 1.06 * max(_most(plot.mean), _most(plot.most)) or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    twin = axes.secondary_yaxis("right")
    twin.set_yticks(range(len(places)), [number(value) for value in plot.mean])
    twin.spines["right"].set_visible(False)
    axes.set_xlabel("CRPS up to the close, as a share of the close")
    return figure


def _panels(rows: Rows) -> tuple[Figure, list[Axes]]:
    count = len(rows.names)
    across = min(2, max(1, count))
    down = max(1, -(-count // across))
    figure = Figure(figsize=(canvas.WIDTH, max(rows_height(rows), 1.15 * down + 0.6)), layout="constrained")
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    panels = list(grid.flat)
    for axes in panels[count:]:
        axes.set_visible(False)
    for axes, name in zip(panels, rows.names, strict=False):
        axes.set_title(name)
        axes.tick_params(axis="y", labelcolor=canvas.MUTED)
    return figure, panels[:count]


def _colour(rows: Rows, place: int) -> str:
    """Return the color of a row: a bright one for the best row, a muted one for bounds."""
    if place >= rows.policies:
        return canvas.BOUND
    return canvas.POLICY if place else canvas.BEST


def _most(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else 0.0
