"""The figures of a page on live training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

import numpy as np
from matplotlib.figure import Figure

from tailcut.engines.live.train.summary import Trained
from tailcut.report.draw import Drawing, canvas
from tailcut.report.formats import figure as number
from tailcut.report.study.draw.curves import draw_curves
from tailcut.report.study.draw.look import Looks, looks
from tailcut.report.study.plots.curves import Curve, CurvesPlot
from tailcut.report.train.facts import Training
from tailcut.report.train.words import goal
from tailcut.types import FloatArray

WINDOW = 10
"""Updates over which the cutoff is averaged."""
_TIME = "seconds since the first mini-batch"
_ROW, _AXIS = 0.42, 1.0
Part = tuple[str, str, Callable[[], Figure]]


def training_drawings(training: Training) -> list[Drawing]:
    """Draw the figures in the order in which the page shows them."""
    every = looks([arm.arm for arm in training.arms])
    return [
        Drawing(title, caption, canvas.rendered(draw, escape(f"{title}. {caption}"), f"train-{place}"))
        for place, (title, caption, draw) in enumerate(_parts(training, every))
    ]


def _parts(training: Training, every: Looks) -> Iterator[Part]:
    best, name = training.best.arm, training.goal.figure.replace("_", " ")
    seen = _plot(_figure(training, arm) for arm in training.arms)
    yield (
        f"{name.capitalize()} against time",
        f"On data kept back, at a look every few updates. Dotted: {goal(training)}.",
        lambda: draw_curves(seen, every, _TIME, name, best=best, target=training.goal.value),
    )
    used = _plot(_curve(arm, np.cumsum(arm.counts)) for arm in training.arms)
    yield (
        "Gradients used",
        "That went into updates, added up: the slope is gradients per second.",
        lambda: draw_curves(used, every, _TIME, "gradients", best=best),
    )
    cutoffs = _plot(_curve(arm, _smooth(np.asarray(arm.counts, dtype=float))) for arm in training.arms)
    workers = training.arms[0].workers
    yield (
        "Cutoff over time",
        f"Gradients that went into an update, mean of {WINDOW} updates.",
        lambda: draw_curves(
            cutoffs, every, _TIME, f"gradients in an update, of {workers}", best=best, whole=workers
        ),
    )
    yield (
        "Seconds idle",
        "That a worker waited for others, the mean; a dot for every worker.",
        lambda: _draw_idle(training, every),
    )


def _figure(training: Training, arm: Trained) -> Curve:
    at = np.array([seconds for _, seconds, _ in arm.looks])
    values = np.array([figures[training.goal.figure] for *_, figures in arm.looks])
    return Curve(arm.arm, at, values, values, values)


def _curve(arm: Trained, values: FloatArray) -> Curve:
    return Curve(arm.arm, np.asarray(arm.made), values, values, values)


def _plot(curves: Iterator[Curve]) -> CurvesPlot:
    some = tuple(curve for curve in curves if len(curve.at))
    end = max((float(curve.at[-1]) for curve in some), default=1.0)
    return CurvesPlot(some, (), end, 0, log_x=False, log_y=False)


def _smooth(values: FloatArray) -> FloatArray:
    """Return the running mean of up to `WINDOW` values up to each place."""
    total = np.cumsum(np.concatenate(([0.0], values)))
    first = np.maximum(np.arange(1, len(values) + 1) - WINDOW, 0)
    last = np.arange(1, len(values) + 1)
    out: FloatArray = (total[last] - total[first]) / (last - first)
    return out


def _draw_idle(training: Training, every: Looks) -> Figure:
    arms = training.arms
    figure = Figure(figsize=(canvas.WIDTH, _ROW * max(len(arms), 4) + _AXIS), layout="constrained")
    axes = figure.subplots()
    for place, arm in enumerate(arms):
        colour, mean = every[arm.arm].colour, float(np.mean(arm.idle))
        axes.barh(place, mean, height=0.6, color=colour, alpha=0.5, linewidth=0)
        axes.scatter(arm.idle, np.full(len(arm.idle), place), s=9, color=colour, zorder=3)
    axes.set_yticks(range(len(arms)), [every[arm.arm].label for arm in arms])
    axes.set_ylim(len(arms) - 0.45, -0.55)
    axes.set_xlim(left=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_xlabel("seconds idle")
    twin = axes.secondary_yaxis("right")
    twin.set_yticks(range(len(arms)), [f"{number(float(np.mean(arm.idle)))} s" for arm in arms])
    twin.spines["right"].set_visible(False)
    twin.tick_params(length=0)
    return figure
