"""The six figures of a source, in the order in which the page shows them."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import NamedTuple

from matplotlib.figure import Figure

from tailcut.report.draw.canvas import rendered
from tailcut.report.draw.over_time import draw_cutoffs, draw_map
from tailcut.report.draw.rows import draw_deciles, draw_idle, draw_shares, rows_height
from tailcut.report.draw.times import draw_times, times_height
from tailcut.report.plots.bars import deciles_plot, idle_plot, shares_plot
from tailcut.report.plots.over_time import CutoffsPlot, MapPlot, cutoffs_plot, map_plot
from tailcut.report.plots.times import times_plot
from tailcut.study.facts import SourceFacts


class Drawing(NamedTuple):
    """One figure: title and caption are plain text, and `svg` is an element for a page."""

    title: str
    caption: str
    svg: str


def drawings(source: SourceFacts, number: int) -> list[Drawing]:
    """Draw the figures of `source`, which is number `number` on the page."""
    shares, cutoffs, cells = shares_plot(source), cutoffs_plot(source), map_plot(source)
    times, idle, deciles = times_plot(source), idle_plot(source), deciles_plot(source)
    seeds = " Whiskers: worst and best seed." if shares.whiskers else ""
    grey = " Grey: bounds, which need hindsight." if shares.rows.policies < len(shares.rows.names) else ""
    parts: list[tuple[str, str, Callable[[], Figure]]] = [
        (
            "Throughput against the bounds",
            f"Gradients per second as a share of the {shares.of_what}'s.{seeds}{grey}",
            lambda: draw_shares(shares),
        ),
        (
            "How many each round waits for",
            _cutoffs_caption(cutoffs),
            lambda: draw_cutoffs(cutoffs, min(rows_height(shares.rows), 5.5)),
        ),
        (
            "Who was slow, and when",
            _map_caption(cells),
            lambda: draw_map(cells, min(times_height(times), 5.5)),
        ),
        (
            "Run times, and when rounds close",
            "Above: how long gradients take. Below: when each policy closes its rounds; the dot is the mean, the line "
            "the middle 80 % of rounds.",
            lambda: draw_times(times),
        ),
        (
            "Time spent waiting",
            "From the dashed line, where all are waited for, to each policy.",
            lambda: draw_idle(idle),
        ),
        (
            "Whose work is used",
            "Per cent of gradients accepted, from the fastest to the slowest tenth of the work. Bold: less than half "
            "of the policy's mean.",
            lambda: draw_deciles(deciles),
        ),
    ]
    return [
        Drawing(title, caption, rendered(draw, escape(f"{title}. {caption}"), f"tailcut-{number}-{place}"))
        for place, (title, caption, draw) in enumerate(parts)
    ]


def _cutoffs_caption(plot: CutoffsPlot) -> str:
    parts = ["Gradients used per round"]
    parts.append(f", mean of {plot.window} rounds." if plot.window > 1 else ".")
    if plot.reference is not None:
        parts.append(" Grey: the clairvoyant.")
    if plot.left_out:
        parts.append(f" The best {len(plot.panels)} policies; the table has {plot.left_out} more.")
    return "".join(parts)


def _map_caption(plot: MapPlot) -> str:
    text = "Run time of every worker in every round. Grey: took no part."
    if plot.per_row * plot.per_column == 1:
        return text
    rounds = f"{plot.per_column} rounds" if plot.per_column > 1 else "1 round"
    workers = f" of {plot.per_row} workers" if plot.per_row > 1 else ""
    return f"{text} Each cell shows the {plot.merged} of {rounds}{workers}."
