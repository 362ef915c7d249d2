"""The four figures of a backtested source, in the order in which the page shows them."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from matplotlib.figure import Figure

from tailcut.report.draw.canvas import rendered
from tailcut.report.draw.figures import Drawing
from tailcut.report.draw.forecasts import draw_cover_times, draw_covers, draw_pits, draw_scores
from tailcut.report.plots.forecasts import cover_plot, cover_time_plot, pit_plot, score_plot
from tailcut.study.backtest_facts import BacktestFacts


def backtest_drawings(source: BacktestFacts, number: int) -> list[Drawing]:
    """Draw the figures of `source`, which is number `number` on the page."""
    pits, covers, over_time, scores = (
        pit_plot(source),
        cover_plot(source),
        cover_time_plot(source),
        score_plot(source),
    )
    seeds = " Whiskers: the seeds." if scores.whiskers else ""
    windows = f" Each point is the mean of {over_time.window} rounds." if over_time.window > 1 else ""
    first = " First seed." if source.seeds > 1 else ""
    parts: list[tuple[str, str, Callable[[], Figure]]] = [
        (
            "Where run times fall in their forecasts",
            "PIT histograms. Flat at 1 is right; high at both ends is too sure, a hump too unsure, a slope is off to "
            "one side.",
            lambda: draw_pits(pits),
        ),
        (
            "What the intervals hold",
            f"Dots should be on their lines. Band: 85 to 95 %.{seeds}",
            lambda: draw_covers(covers),
        ),
        (
            "The 90 % interval along the rounds",
            f"The band is 85 to 95 %.{windows}{first}",
            lambda: draw_cover_times(over_time),
        ),
        (
            "How far off, up to the close",
            f"Shorter is better. Grey: the truth, which nobody has.{seeds}"
            if scores.rows.policies < len(scores.rows.names)
            else f"Shorter is better.{seeds}",
            lambda: draw_scores(scores),
        ),
    ]
    return [
        Drawing(title, caption, rendered(draw, escape(f"{title}. {caption}"), f"backtest-{number}-{place}"))
        for place, (title, caption, draw) in enumerate(parts)
    ]
