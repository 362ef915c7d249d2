"""Figures along the rounds."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from tailcut.report.draw import canvas
from tailcut.report.plots.over_time import CutoffsPlot, MapPlot, Panel
from tailcut.report.plots.times import log_ticks


def draw_cutoffs(plot: CutoffsPlot, height: float) -> Figure:
    """Draw a panel per policy, with the clairvoyant's cutoff in gray; at least `height` inches high."""
    across = min(2, max(1, len(plot.panels)))
    down = max(1, -(-len(plot.panels) // across))
    figure = Figure(figsize=(canvas.WIDTH, max(height, 0.85 * down + 0.6)), layout="constrained")
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for number, axes in enumerate(grid.flat):
        if number >= len(plot.panels):
            axes.set_visible(False)
            continue
        colour = canvas.POLICY if number else canvas.BEST
        _draw_panel(axes, plot.panels[number], plot.reference, colour)
    top = max([plot.workers, *(float(panel.cutoff.max()) for panel in plot.panels if panel.cutoff.size)])
    grid[0, 0].set(xlim=(1, max(2, plot.rounds)), ylim=(0, 1.06 * top))
    grid[0, 0].yaxis.set_major_locator(MaxNLocator(3, integer=True, min_n_ticks=1))
    grid[0, 0].xaxis.set_major_locator(MaxNLocator(4, integer=True, min_n_ticks=1))
    figure.supxlabel("round", size=9, color=canvas.MUTED)
    figure.supylabel(f"gradients used, of {plot.workers}", size=9, color=canvas.MUTED)
    return figure


def draw_map(plot: MapPlot, height: float) -> Figure:
    """Draw run times as colors on a logarithmic scale, workers by rounds; `height` is in inches."""
    figure = Figure(figsize=(canvas.WIDTH, height), layout="constrained")
    axes = figure.subplots()
    axes.set_facecolor(canvas.ABSENT)
    rows, columns = plot.cells.shape
    colours = matplotlib.colormaps[canvas.LOG_MAP].with_extremes(bad=(0.0, 0.0, 0.0, 0.0))
    image = axes.imshow(
        np.ma.masked_invalid(plot.cells),
        norm=LogNorm(plot.low, plot.high),
        cmap=colours,
        aspect="auto",
        interpolation="none",
        extent=(0.5, columns * plot.per_column + 0.5, rows * plot.per_row + 0.5, 0.5),
    )
    axes.set(xlim=(0.5, plot.rounds + 0.5), ylim=(plot.workers + 0.5, 0.5), xlabel="round", ylabel="worker")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.tick_params(axis="y", labelcolor=canvas.MUTED)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, pad=0.02, aspect=28)
    bar.set_label("run time, seconds")
    bar.outline.set_visible(False)
    seconds_ticks(bar.ax, "y", plot.low, plot.high)
    bar.ax.tick_params(labelcolor=canvas.MUTED, length=3)
    return figure


def seconds_ticks(axes: Axes, which: str, low: float, high: float) -> None:
    """Set ticks at round numbers on a logarithmic axis, even if it spans less than a decade."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(log_ticks(low, high)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))


def _draw_panel(axes: Axes, panel: Panel, reference: Panel | None, colour: str) -> None:
    if reference is not None:
        axes.plot(reference.rounds, reference.cutoff, color=canvas.BOUND, linewidth=1.0)
    # A single round gives a line without length, so add a marker.
    marker = "o" if len(panel.rounds) == 1 else None
    axes.plot(panel.rounds, panel.cutoff, color=colour, linewidth=1.7, marker=marker)
    axes.set_title(panel.name, pad=3)
    axes.grid(axis="y")
    axes.tick_params(axis="y", labelcolor=canvas.MUTED)
