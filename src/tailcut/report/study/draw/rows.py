"""Figures with a row per arm, the fastest arm on top."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from tailcut.report.draw import canvas
from tailcut.report.formats import figure as number
from tailcut.report.formats import known, percent
from tailcut.report.study.draw.look import Looks
from tailcut.report.study.formats import duration, size
from tailcut.report.study.plots.bars import IdlePlot, TimesPlot, TrafficPlot
from tailcut.types import FloatArray

HEIGHT = 3.6
"""Least height, in inches, of a figure that is beside a curve."""
_ROW, _AXIS = 0.27, 1.1


def draw_times(plot: TimesPlot, looks: Looks) -> Figure:
    """Draw means as bars, intervals as whiskers and seeds as dots; lower bounds are pale."""
    figure, (axes,) = _rows(plot.arms, looks, 1, least=HEIGHT)
    right = 1.05 * max([*plot.mean[np.isfinite(plot.mean)], *_all_seeds(plot)], default=1.0)
    for place, arm in enumerate(plot.arms):
        colour, whole = looks[arm].colour, plot.whole[place]
        if known(plot.mean[place]):
            axes.barh(
                place, plot.mean[place], height=0.6, color=colour, alpha=0.5 if whole else 0.18, linewidth=0
            )
        _whisker(axes, place, float(plot.low[place]), float(plot.high[place]), right)
        seeds = plot.seeds[place]
        axes.scatter(seeds.reached, np.full(len(seeds.reached), place), s=13, color=colour, zorder=3)
        axes.scatter(
            seeds.ended,
            np.full(len(seeds.ended), place),
            s=20,
            marker=">",
            facecolor="none",
            edgecolor=colour,
            zorder=3,
        )
    axes.set_xlim(0, right)
    axes.set_xlabel("virtual time to the target, seconds")
    texts = [
        duration(mean) if whole else f"≥ {duration(mean)}" if known(mean) else "∞"
        for mean, whole in zip(plot.mean, plot.whole, strict=True)
    ]
    _values_at_right(axes, texts)
    _explain(figure, plot)
    return figure


def draw_idle(plot: IdlePlot, looks: Looks) -> Figure:
    """Draw two panels side by side: the share of time spent waiting, and the staleness of gradients."""
    figure, (left, right) = _rows(plot.arms, looks, 2)
    _bars(left, 100.0 * plot.idle, looks, plot.arms)
    left.set_xlabel("waiting for others,\nper cent of the time")
    _values_at_right(left, [percent(value) for value in plot.idle])
    _bars(right, plot.staleness, looks, plot.arms)
    right.set_xlabel("staleness of used\ngradients, rounds")
    _values_at_right(right, [number(value, 2) for value in plot.staleness])
    return figure


def draw_traffic(plot: TrafficPlot, looks: Looks) -> Figure:
    """Draw the bytes of gradients that were used and that came too late, as stacked bars."""
    figure, (axes,) = _rows(plot.arms, looks, 1)
    total = plot.used + plot.in_vain
    unit, scale = _unit(total)
    colours = [looks[arm].colour for arm in plot.arms]
    places = np.arange(len(plot.arms))
    used, in_vain = np.nan_to_num(plot.used) / scale, np.nan_to_num(plot.in_vain) / scale
    axes.barh(places, used, height=0.6, color=colours, alpha=0.55, linewidth=0)
    axes.barh(places, in_vain, left=used, height=0.6, color=canvas.WARN, linewidth=0)
    axes.set_xlim(0, 1.04 * float(np.max(used + in_vain, initial=0.0)) or 1.0)
    axes.set_xlabel(f"gradients that arrived in a run, {unit}")
    _values_at_right(axes, [size(value) for value in total])
    if in_vain.any():
        patch = Patch(color=canvas.WARN, linewidth=0, label="came too late")
        figure.legend(handles=[patch], loc="outside lower center")
    return figure


def _rows(
    arms: Sequence[str], looks: Looks, panels: int, least: float = 0.0
) -> tuple[Figure, Sequence[Axes]]:
    height = max(_ROW * max(len(arms), 4) + _AXIS, least)
    figure = Figure(figsize=(canvas.WIDTH, height), layout="constrained")
    every = figure.subplots(1, panels, squeeze=False, sharey=True)[0]
    every[0].set_yticks(range(len(arms)), [looks[arm].label for arm in arms])
    every[0].set_ylim(len(arms) - 0.45, -0.55)
    for axes in every:
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
    return figure, every


def _bars(axes: Axes, values: FloatArray, looks: Looks, arms: Sequence[str]) -> None:
    colours = [looks[arm].colour for arm in arms]
    bars = np.nan_to_num(values)
    axes.barh(np.arange(len(arms)), bars, height=0.6, color=colours, alpha=0.55, linewidth=0)
    axes.set_xlim(0, 1.04 * float(np.max(bars, initial=0.0)) or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(4))


def _whisker(axes: Axes, place: int, low: float, high: float, right: float) -> None:
    """Draw an interval; one without an upper end leaves the frame."""
    if np.isnan(low) or np.isinf(low):
        return
    end = min(high, 2.0 * right)
    axes.hlines(place, low, end, color=canvas.INK, linewidth=1.1, zorder=2.8)
    axes.vlines([low, end], place - 0.14, place + 0.14, color=canvas.INK, linewidth=1.1, zorder=2.8)


def _explain(figure: Figure, plot: TimesPlot) -> None:
    marks = [Line2D([], [], marker="o", markersize=3.6, linestyle="", color=canvas.MUTED, label="one seed")]
    if any(len(seeds.ended) for seeds in plot.seeds):
        marks.append(
            Line2D(
                [],
                [],
                marker=">",
                markersize=4.6,
                linestyle="",
                markerfacecolor="none",
                color=canvas.MUTED,
                label="ended without it",
            )
        )
    if np.isfinite(plot.low).any():
        marks.append(Line2D([], [], color=canvas.INK, linewidth=1.1, label="95 % interval of the mean"))
    figure.legend(handles=marks, loc="outside lower center", ncols=3, columnspacing=1.2, handlelength=1.4)


def _all_seeds(plot: TimesPlot) -> list[float]:
    return [float(mark) for seeds in plot.seeds for part in seeds for mark in part]


def _values_at_right(axes: Axes, texts: list[str]) -> None:
    """Write the values in a column at the right, where no bar crosses them."""
    twin = axes.secondary_yaxis("right")
    twin.set_yticks(range(len(texts)), texts)
    twin.spines["right"].set_visible(False)
    twin.tick_params(length=0)


def _unit(values: FloatArray) -> tuple[str, float]:
    most = float(np.max(np.nan_to_num(values), initial=0.0))
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if most >= scale:
            return unit, scale
    return "bytes", 1.0
