"""The distribution of run times over the moments at which rounds close."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailcut.report.draw import canvas
from tailcut.report.draw.over_time import seconds_ticks
from tailcut.report.draw.rows import mark_bounds
from tailcut.report.plots.times import TimesPlot

_HISTOGRAM, _ROW, _AXIS = 1.35, 0.22, 0.75


def draw_times(plot: TimesPlot) -> Figure:
    """Draw the histogram, and below it one line per policy on the same scale of seconds."""
    figure = Figure(figsize=(canvas.WIDTH, times_height(plot)), layout="constrained")
    ratios = (_HISTOGRAM, times_height(plot) - _HISTOGRAM - _AXIS)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=ratios)
    above.set_xscale("log")
    above.set_xlim(plot.low, plot.high)
    _draw_histogram(above, plot)
    _draw_closings(below, plot)
    seconds_ticks(below, "x", plot.low, plot.high)
    below.set_xlabel("seconds (logarithmic)")
    return figure


def times_height(plot: TimesPlot) -> float:
    """Return the height of the figure in inches, by its number of rows."""
    return _HISTOGRAM + _ROW * max(2, len(plot.closings)) + _AXIS


def _draw_histogram(axes: Axes, plot: TimesPlot) -> None:
    if len(plot.shares):
        axes.stairs(100 * plot.shares, plot.edges, fill=True, color=canvas.POLICY, alpha=0.55)
    axes.set_ylim(0, None)
    axes.set_ylabel("% of run times")
    axes.grid(axis="y")
    axes.tick_params(axis="x", length=0, labelbottom=False)
    axes.tick_params(axis="y", labelcolor=canvas.MUTED)


def _draw_closings(axes: Axes, plot: TimesPlot) -> None:
    for row, closing in enumerate(plot.closings):
        colour = canvas.BOUND if row >= plot.policies else canvas.POLICY if row else canvas.BEST
        axes.plot([closing.low, closing.high], [row, row], color=colour, linewidth=2.2)
        axes.plot([closing.mean], [row], color=colour, marker="o", markersize=5)
    axes.set_yticks(range(len(plot.closings)), [closing.name for closing in plot.closings])
    axes.set_ylim(max(1, len(plot.closings)) - 0.4, -0.6)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    mark_bounds(axes, len(plot.closings), plot.policies)
