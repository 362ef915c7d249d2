"""Figures with a line per arm."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from tailcut.report.draw import canvas
from tailcut.report.plots.times import log_ticks
from tailcut.report.study.draw.look import Looks, add_legend, plain_axes
from tailcut.report.study.plots.bars import ServedPlot
from tailcut.report.study.plots.curves import Curve, CurvesPlot

HEIGHT = 3.3
_LEGEND_ROW = 0.2
_FINE = (0, (1, 1))


def draw_curves(
    plot: CurvesPlot,
    looks: Looks,
    x: str,
    y: str,
    *,
    best: str = "",
    target: float | None = None,
    whole: float | None = None,
) -> Figure:
    """Draw the lines of arms with their bands.

    Args:
        plot: the lines to draw.
        looks: look of each arm.
        x: label of the horizontal axis, with its unit.
        y: label of the vertical axis, with its unit.
        best: the arm that is highlighted.
        target: value of a horizontal line; None for no line.
        whole: largest possible value; the vertical axis then runs from 0 to it.
    """
    arms = [curve.arm for curve in plot.curves]
    figure, axes = plain_axes(HEIGHT + _LEGEND_ROW * math.ceil(len(arms) / 3))
    for curve in plot.truth:
        axes.plot(
            curve.at, curve.mean, color=looks[curve.arm].colour, linewidth=0.9, linestyle=_FINE, zorder=3.2
        )
    for curve in sorted(plot.curves, key=lambda one: one.arm == best):
        _draw_curve(axes, curve, looks, curve.arm == best)
    if target is not None:
        axes.axhline(target, color=canvas.INK, linestyle=(0, (2, 2)), linewidth=1.0, zorder=2.1)
    _scale_axes(axes, plot, target)
    if whole is not None:
        axes.set_ylim(0, 1.05 * whole)
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.set(xlabel=x, ylabel=y)
    add_legend(figure, arms, looks)
    return figure


def draw_served(plot: ServedPlot, looks: Looks, best: str = "") -> Figure:
    """Draw accepted gradients from the least to the best served worker; 1 is an even share."""
    figure, axes = plain_axes(HEIGHT + _LEGEND_ROW * math.ceil(len(plot.arms) / 3))
    axes.axhline(1.0, color=canvas.RULE, linewidth=1.2)
    marker = "o" if len(plot.at) == 1 else None
    for arm, shares in zip(plot.arms, plot.shares, strict=True):
        width, order = (2.4, 3.0) if arm == best else (1.6, 2.5)
        axes.plot(plot.at, shares, marker=marker, linewidth=width, zorder=order, **looks[arm].line)
    finite = plot.shares[np.isfinite(plot.shares)]
    axes.set(xlim=(-1, 101), ylim=(0, 1.06 * max(1.2, float(finite.max()) if finite.size else 0.0)))
    axes.set(
        xlabel="workers, from the least to the best served, per cent",
        ylabel="accepted gradients over the mean",
    )
    add_legend(figure, plot.arms, looks)
    return figure


def _draw_curve(axes: Axes, curve: Curve, looks: Looks, best: bool) -> None:
    look = looks[curve.arm]
    order = 3.0 if best else 2.5
    # A single evaluation gives a line without length, so add a marker.
    marker = "o" if len(curve.at) == 1 else None
    axes.fill_between(curve.at, curve.least, curve.most, color=look.colour, alpha=0.13, linewidth=0)
    axes.plot(curve.at, curve.mean, linewidth=2.4 if best else 1.6, marker=marker, zorder=order, **look.line)


def _scale_axes(axes: Axes, plot: CurvesPlot, target: float | None) -> None:
    low, high = _range([*plot.curves, *plot.truth], target)
    if plot.log_y and low > 0:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.15, high * 1.15)
        _round_ticks(axes, "y", low / 1.15, high * 1.15)
    elif high > low:
        room = 0.05 * (high - low)
        axes.set_ylim(low - room, high + room)
    if plot.log_x:
        first = min(float(curve.at[0]) for curve in plot.curves)
        axes.set_xscale("log")
        axes.set_xlim(first, plot.end)
        _round_ticks(axes, "x", first, plot.end)
    else:
        axes.set_xlim(0, plot.end or 1.0)
        axes.xaxis.set_major_locator(MaxNLocator(6))


def _range(curves: list[Curve], target: float | None) -> tuple[float, float]:
    """Return the range of the means; bands may leave the frame, so that no outlier flattens all lines."""
    marks = [float(edge(curve.mean)) for curve in curves for edge in (np.min, np.max)]
    marks += [] if target is None else [target]
    marks = [mark for mark in marks if math.isfinite(mark)]
    return (min(marks), max(marks)) if marks else (0.0, 1.0)


def _round_ticks(axes: Axes, which: str, low: float, high: float) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(log_ticks(low, high)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
