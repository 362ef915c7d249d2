"""Figures with one row per policy."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tailcut.report.draw import canvas
from tailcut.report.formats import UNKNOWN, known, percent, share
from tailcut.report.plots.bars import DecilesPlot, IdlePlot, Rows, SharesPlot
from tailcut.types import FloatArray

_ROW, _AXIS = 0.24, 0.9
_LINES = {
    "best-static": (canvas.STATIC, (0, (5, 2))),
    "best-deadline": (canvas.DEADLINE, (0, (1, 1.2))),
    "informed": (canvas.INFORMED, (0, (5, 1.5, 1, 1.5))),
}


def draw_shares(plot: SharesPlot) -> Figure:
    """Draw bars from 0, with whiskers over the seeds and the bounds as vertical lines."""
    figure, axes = rows_figure(plot.rows)
    places = np.arange(len(plot.rows.names))
    bars = np.nan_to_num(plot.mean)
    axes.barh(places, bars, height=0.62, color=_colours(plot.rows), linewidth=0)
    if plot.whiskers:
        spread = np.clip(np.nan_to_num([plot.mean - plot.least, plot.most - plot.mean]), 0.0, None)
        axes.errorbar(
            bars,
            places,
            xerr=spread,
            fmt="none",
            ecolor=canvas.INK,
            elinewidth=1.0,
            capsize=2.2,
            capthick=1.0,
        )
    for line in plot.lines:
        colour, dashes = _LINES[line.name]
        label = f"{line.name.replace('-', ' ')} {share(line.share)}"
        axes.axvline(line.share, color=colour, linestyle=dashes, linewidth=1.5, label=label)
    axes.set_xlim(
        0, 1.04 * max(1.0, _most(plot.mean), _most(plot.most), *(line.share for line in plot.lines))
    )
    _values_at_right(axes, [share(value) for value in plot.mean])
    axes.set_xlabel(f"share of the {plot.of_what}'s throughput")
    if plot.lines:
        figure.legend(loc="outside lower center", ncols=3, handlelength=2.2, columnspacing=1.2)
    return figure


def draw_idle(plot: IdlePlot) -> Figure:
    """Draw the share of time spent waiting, from that of waiting for all to that under each policy."""
    figure, axes = rows_figure(plot.rows)
    places = np.arange(len(plot.rows.names))
    after = 100 * plot.after
    if known(plot.before):
        before = 100 * plot.before
        axes.hlines(places, before, after, color=canvas.RULE, linewidth=3.0)
        label = f"waiting for all: {percent(plot.before)}"
        axes.axvline(before, color=canvas.WARN, linestyle=(0, (5, 2)), linewidth=1.5, label=label)
        figure.legend(loc="outside lower center")
    axes.scatter(after, places, color=_colours(plot.rows), s=34, zorder=3)
    axes.set_xlim(0, 1.08 * max(1.0, _most(after), 100 * plot.before if known(plot.before) else 0.0))
    _values_at_right(axes, [percent(value) for value in plot.after])
    axes.set_xlabel("per cent of the time that a worker waits for others")
    return figure


def draw_deciles(plot: DecilesPlot) -> Figure:
    """Draw ten cells per policy, each with its percentage; cells with few accepted gradients are pale."""
    figure, axes = rows_figure(plot.rows)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    for (row, tenth), accepted in np.ndenumerate(plot.shares):
        _draw_cell(axes, tenth + 1, row, accepted, bool(plot.scarce[row, tenth]))
    axes.set_xlim(0.5, 10.5)
    axes.set_xticks(range(1, 11), ["fastest", *map(str, range(2, 10)), "slowest"])
    axes.tick_params(length=0)
    axes.set_xlabel("tenth of the work, by run time")
    return figure


def rows_height(rows: Rows) -> float:
    """Return the height of a figure with these rows, in inches."""
    return _ROW * max(len(rows.names), 4) + _AXIS


def mark_bounds(axes: Axes, rows: int, policies: int) -> None:
    """Draw a thin line between policies and bounds."""
    if 0 < policies < rows:
        axes.axhline(policies - 0.5, color=canvas.MUTED, linewidth=0.8)


def _draw_cell(axes: Axes, x: float, y: float, accepted: float, scarce: bool) -> None:
    # At most about half opaque, so that the number on top is legible in light and dark mode.
    alpha = 0.55 * min(max(float(np.nan_to_num(accepted)), 0.0), 1.0)
    box = Rectangle((x - 0.47, y - 0.45), 0.94, 0.9, facecolor=canvas.POLICY, alpha=alpha, linewidth=0)
    text = f"{100 * accepted:.0f}" if np.isfinite(accepted) else UNKNOWN
    colour, weight = (canvas.WARN, "bold") if scarce else (canvas.INK, "normal")
    # Cells lie within the axes, so the layout need not measure them.
    axes.add_patch(box).set_in_layout(False)
    label = axes.text(x, y, text, ha="center", va="center", size=8, color=colour, weight=weight)
    label.set_in_layout(False)


def rows_figure(rows: Rows) -> tuple[Figure, Axes]:
    """Return an empty figure with a line per row, and its axes."""
    count = len(rows.names)
    figure = Figure(figsize=(canvas.WIDTH, rows_height(rows)), layout="constrained")
    axes = figure.subplots()
    axes.set_yticks(range(count), rows.names)
    axes.set_ylim(max(count, 1) - 0.45, -0.55)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    mark_bounds(axes, count, rows.policies)
    return figure, axes


def _colours(rows: Rows) -> list[str]:
    """Return the color of each row: a bright one for the best policy, a muted one for bounds."""
    usual = [canvas.BEST] + [canvas.POLICY] * (rows.policies - 1) if rows.policies else []
    return usual + [canvas.BOUND] * (len(rows.names) - rows.policies)


def _values_at_right(axes: Axes, texts: list[str]) -> None:
    """Write the values in a column at the right, where no bar or line crosses them."""
    twin = axes.secondary_yaxis("right")
    twin.set_yticks(range(len(texts)), texts)
    twin.spines["right"].set_visible(False)


def _most(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else 0.0
