"""The figures of a reproduction, drawn with matplotlib. Importing this module needs the extra `report`."""

from __future__ import annotations

from html import escape

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from tailcut.report.draw import Drawing, canvas
from tailcut.report.plots.times import log_ticks
from tailcut.study.reproduce.findings import Finding, Line, Plot

HEIGHT, LEGEND_ROW = 2.6, 0.2
SHORT = 14
"""Length of the longest name, in characters, up to which a legend has three columns; otherwise two."""
_COLOURS = (
    canvas.POLICY,
    canvas.BEST,
    canvas.STATIC,
    canvas.DEADLINE,
    canvas.INFORMED,
    canvas.INK,
    canvas.WARN,
    canvas.MUTED,
)
_DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = ("solid", (0, (5, 2)), (0, (1, 1.2)))


def plot_drawings(finding: Finding, number: int) -> list[Drawing]:
    """Draw the figures of an experiment, which is number `number` on the page."""
    return [
        Drawing(
            plot.title,
            plot.caption,
            canvas.rendered(
                lambda plot=plot: draw_plot(plot),  # type: ignore[misc]
                escape(f"{plot.title}. {plot.caption}"),
                f"reproduce-{number}-{place}",
            ),
        )
        for place, plot in enumerate(finding.plots)
    ]


def draw_plot(plot: Plot) -> Figure:
    """Draw lines with their bands or dots with their ranges, and the legend below."""
    abreast = 3 if max(len(line.name) for line in plot.lines) <= SHORT else 2
    rows = -(-len(plot.lines) // abreast)
    figure = Figure(figsize=(canvas.WIDTH, HEIGHT + LEGEND_ROW * rows), layout="constrained")
    axes = figure.subplots()
    usual = 0
    for line in plot.lines:
        if line.look == "bound":
            axes.plot(line.x, line.y, color=canvas.BOUND, linewidth=1.1, label=line.name)
            continue
        _draw_line(axes, line, _COLOURS[usual % len(_COLOURS)], _DASHES[usual // len(_COLOURS)])
        usual += 1
    axes.set(xlabel=plot.x_label, ylabel=plot.y_label)
    axes.grid()
    _scale(axes, plot)
    if len(plot.lines) > 1:
        figure.legend(loc="outside lower center", ncols=abreast, handlelength=1.8, columnspacing=1.2)
    return figure


def _draw_line(axes: Axes, line: Line, colour: str, dashes: str | tuple[int, tuple[float, ...]]) -> None:
    if line.look == "dots":
        if line.low:
            ends = np.sort(np.array([line.low, line.high]), axis=0)
            axes.vlines(line.x, *ends, color=colour, linewidth=1.2)
        axes.plot(line.x, line.y, "o", color=colour, markersize=4.5, label=line.name)
        return
    marker = "o" if len(line.x) <= 12 else None
    axes.plot(
        line.x,
        line.y,
        color=colour,
        linestyle=dashes,
        linewidth=1.5,
        marker=marker,
        markersize=3.5,
        label=line.name,
    )
    if line.low:
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.15, linewidth=0)


def _scale(axes: Axes, plot: Plot) -> None:
    if plot.x_log:
        axes.set_xscale("log")
        _ticks(axes, "x", sorted({x for line in plot.lines for x in line.x}), plot.steps)
    if plot.y_log:
        axes.set_yscale("log")
        _ticks(axes, "y", [y for line in plot.lines for y in (*line.y, *line.low, *line.high)], False)


def _ticks(axes: Axes, which: str, values: list[float], each: bool) -> None:
    """Set ticks on a logarithmic axis at round numbers, or at the values themselves if `each`."""
    finite = [value for value in values if np.isfinite(value) and value > 0]
    if not finite or min(finite) == max(finite):
        return
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(finite if each else log_ticks(min(finite), max(finite))))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
