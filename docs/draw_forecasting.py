"""Draw the figures of `docs/forecasting.md` into `docs/figures`: some minutes, the same files every time.

    python docs/draw_forecasting.py [NAME…]

They show what `python -m benchmarks.forecast` measures, on fewer seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import matplotlib.style
from benchmarks.forecast import censoring, drift
from benchmarks.forecast.censored import LEVELS, predictive
from benchmarks.forecast.policies import flagship
from benchmarks.forecast.windows import window_shares
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailcut import names
from tailcut.forecast import Bayes
from tailcut.forecast.trend.cells import COUNT
from tailcut.study.backtest import BacktestSetting, Contender, backtest
from tailcut.types import RunTimes

FOLDER = Path(__file__).with_name("figures")
LEAST, MOST = 0.85, 3.2
"""Levels shown, in seconds."""
BLUE, RED, GREEN, GREY, INK = "#2166ac", "#b2182b", "#1b7837", "#999999", "#222222"
LOOK = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "tailcut",
    "path.simplify_threshold": 0.5,
}


def panels(count: int, width: float = 7.6, height: float = 2.9) -> tuple[Figure, list[Axes]]:
    """A figure with some panels side by side."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def cut_level() -> Figure:
    """What the filter believes of one worker's level, before and after it is cut."""
    n, rounds, cut_at = 20, 60, 1.15
    rng = np.random.default_rng(3)
    seconds = np.exp(0.05 * rng.standard_normal((rounds, n)))
    slow = rng.random((rounds, n)) < 0.1
    seconds[slow] *= 2.5
    seconds[-6:, 0] = np.exp(0.03 * rng.standard_normal(6))
    ids, nodes = np.arange(n), np.full(n, -1)
    forecaster = Bayes(scenarios=False)
    belief = forecaster.start()
    for row in seconds:
        belief = forecaster.learn(belief, RunTimes(ids, row, np.ones(n, dtype=np.bool_), nodes))
    after_cuts = [belief]
    row = seconds[-1].copy()
    row[0] = cut_at
    for _ in range(4):
        after_cuts.append(forecaster.learn(after_cuts[-1], RunTimes(ids, row, ids != 0, nodes)))
    figure, (axes,) = panels(1, 6.0)
    chosen = ((0, "before it is cut", GREY), (1, "after one cut", BLUE), (4, "after four cuts in a row", RED))
    for index, label, colour in chosen:
        at = after_cuts[index]
        assert at is not None, "it was taught"
        times = at.base.cells.ends(np.arange(COUNT))
        near = (times > LEAST) & (times < MOST)
        axes.fill_between(times[near], at.levels[0, near], step="pre", color=colour, alpha=0.25, linewidth=0)
        axes.step(times[near], at.levels[0, near], where="pre", color=colour, linewidth=1.2, label=label)
    axes.axvline(cut_at, color=INK, linewidth=0.8, linestyle=":")
    axes.text(cut_at * 1.01, axes.get_ylim()[1] * 0.95, "the close", va="top")
    axes.set(xscale="log", xlim=(LEAST, MOST), xlabel="level, seconds", ylabel="probability of the cell")
    axes.set_xticks([1, 1.5, 2, 3], ["1", "1.5", "2", "3"])
    axes.minorticks_off()
    axes.legend()
    return figure


def recovery() -> Figure:
    """The tail of the run times, true and forecast, with none, few and some of the late workers let finish."""
    figure, every = panels(2)
    forecaster = names.entrant(flagship()).policy.forecaster
    for axes, law in zip(every, ("log-normal", "10 % × 9"), strict=True):
        table = names.source(censoring.LAWS[law]).draw(0, 400).table
        measured = 200
        for finish, colour in zip(censoring.FINISH, (RED, GREEN, BLUE), strict=True):
            times, survival = predictive(table, forecaster, finish, measured, 0, every=4)
            axes.plot(times[::10], survival[::10], color=colour, linewidth=1.4, label=f"f = {finish:g}")
        truth = np.sort(table.seconds[-measured:].ravel())
        left = 1.0 - np.arange(1, len(truth) + 1) / len(truth)
        some = np.unique(np.geomspace(1, len(truth) - 1, 300).astype(int))
        axes.plot(truth[-some], left[-some], color=INK, linewidth=1.0, linestyle="--", label="true")
        for level in LEVELS:
            axes.axhline(1.0 - level, color=GREY, linewidth=0.6, linestyle=":")
        close = np.quantile(truth, 0.7)
        axes.axvline(close, color=GREY, linewidth=0.8)
        axes.set(yscale="log", xscale="log", ylim=(0.003, 1.1), xlim=(0.8, truth[-1] * 2), title=law)
        axes.set(xlabel="seconds; the line marks the close")
        ticks = [1, 2, 3] if truth[-1] < 6 else [1, 2, 5, 10]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
    every[0].set_ylabel("share of run times beyond")
    every[0].legend(loc="lower left")
    return figure


def pit() -> Figure:
    """PIT histograms on demo8, taught what closed rounds show."""
    policies = {"bayes": flagship(), "trend": "trend", "empirical": "empirical"}
    some = [Contender(name, names.entrant(spec).policy.forecaster) for name, spec in policies.items()]
    facts = backtest(names.source("demo8"), some, BacktestSetting(seeds=3, rounds=400))
    figure, every = panels(len(policies), height=2.4)
    for axes, found in zip(every, facts.forecasters, strict=False):
        bins = len(found.pit)
        places = (np.arange(bins) + 0.5) / bins
        axes.bar(places, np.array(found.pit) * bins, width=0.9 / bins, color=BLUE)
        axes.axhline(1.0, color=INK, linewidth=0.8, linestyle=":")
        axes.set(title=f"{found.name}: 90 % holds {100 * found.cover90.mean:.0f} %", xlabel="F(x)")
    tallest = max(axes.get_ylim()[1] for axes in every)
    for axes in every:
        axes.set_ylim(0, tallest)
    every[0].set_ylabel("density (1 is right)")
    return figure


def after_change() -> Figure:
    """Share of the clairvoyant after the law has changed."""
    found, interrupted = drift.measured(3, drift.CHANGE, 120, list(drift.cases()), 60, None)
    if interrupted:
        raise KeyboardInterrupt
    colours = {"bayes": BLUE, "stopping": GREEN, "bdsgd": RED}
    figure, every = panels(2)
    for axes, case in zip(every, drift.cases(), strict=True):
        for name, colour in colours.items():
            shares = window_shares(found[case, name], drift.WIDTH)
            ends = drift.WIDTH * (np.arange(len(shares)) + 1)
            axes.plot(ends, shares, color=colour, marker="o", markersize=3, linewidth=1.2, label=name)
        axes.axvline(drift.LIMIT, color=GREY, linewidth=0.8, linestyle=":")
        axes.set(title=case, xlabel="rounds after the change", ylim=(None, 1.02))
    every[0].set_ylabel("share of the clairvoyant")
    every[1].legend()
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "cut-level": cut_level,
    "recovery": recovery,
    "pit": pit,
    "after-change": after_change,
}


def main(chosen: list[str]) -> None:
    """Draw the figures of these names, or all."""
    FOLDER.mkdir(exist_ok=True)
    for name in chosen or list(FIGURES):
        with matplotlib.style.context(["default", LOOK]):
            nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
            FIGURES[name]().savefig(FOLDER / f"{name}.svg", format="svg", metadata=nothing)
        print(FOLDER / f"{name}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
