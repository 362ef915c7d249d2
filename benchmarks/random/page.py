"""The page of `--report`: claims, pictures and the whole table, in one HTML file that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks.claims import Claim
from benchmarks.random.play import Cluster
from benchmarks.random.show import COLUMNS, WORST_SHOWN, cells, scores_of, worst_first
from tailcut.report import html
from tailcut.report.draw import Drawing, canvas

LEAST_SHOWN = 0.7
"""The lowest score drawn; lower ones are drawn there."""


def write_page(
    clusters: Sequence[Cluster], claims: Sequence[Claim], policy: str, command: str, path: Path
) -> None:
    """Write the page; the same clusters give the same bytes."""
    parts = [
        '<dl class="claims">\n'
        + "\n".join(
            f"<dt>{'holds' if claim.holds else 'does not hold'}</dt><dd>{html.text(claim.text)}; found "
            f"{html.text(claim.found)}</dd>"
            for claim in claims
        )
        + "\n</dl>",
        html.section(
            1,
            name="Scores",
            about="Scores",
            setting=f"{len(clusters)} random clusters, late workers stop at once",
            lead="A score is the share of the best fixed choice in hindsight: the best cutoff, the best deadline or "
            "waiting for all.",
            details="",
            notes=(),
            table=html.figures_table(
                COLUMNS, [cells(one) for one in worst_first(clusters)[:WORST_SHOWN]], []
            ),
            figures=drawings(clusters),
        ),
        html.section(
            2,
            name="All clusters",
            about="All clusters",
            setting="in the order of their seeds",
            lead="",
            details="",
            notes=(),
            table=html.figures_table(COLUMNS, [cells(one) for one in clusters], []),
            figures=(),
        ),
    ]
    page = html.document(
        names=["random clusters"],
        heading=f"{policy} on clusters that nobody chose",
        lead="Each seed is a cluster of its own: size, laws and trouble are drawn from it. This page was made by",
        command=command,
        parts=parts,
    )
    html.save(page, path)


def drawings(clusters: Sequence[Cluster]) -> list[Drawing]:
    """Draw the distribution, clock against table score, and the score by size."""
    parts = [
        (
            "Distribution of the scores",
            "The share of the clusters with at most that score.",
            lambda: _distribution(clusters),
        ),
        (
            "Clock score and table score",
            "Each dot is a cluster. Below the diagonal, closing early in slow states paid on the table alone.",
            lambda: _both(clusters),
        ),
        ("Clock score and size", "Each dot is a cluster.", lambda: _by_size(clusters)),
    ]
    return [
        Drawing(title, caption, canvas.rendered(draw, escape(f"{title}. {caption}"), f"random-{number}"))
        for number, (title, caption, draw) in enumerate(parts)
    ]


def _figure() -> Figure:
    return Figure(figsize=(canvas.WIDTH, 3.2), layout="constrained")


def _shown(scores: Sequence[float]) -> np.ndarray:
    return np.maximum(np.array(scores), LEAST_SHOWN)


def _distribution(clusters: Sequence[Cluster]) -> Figure:
    figure = _figure()
    axes = figure.subplots()
    looks = (("clock score", canvas.BEST, "-"), ("table score", canvas.POLICY, "--"))
    for scores, (name, color, dashes) in zip(scores_of(clusters), looks, strict=True):
        x = np.sort(_shown(scores))
        axes.step(
            x, np.arange(1, len(x) + 1) / len(x), where="post", color=color, linestyle=dashes, label=name
        )
    axes.axvline(1.0, color=canvas.RULE)
    axes.set(
        xlabel="share of the best fixed choice in hindsight", ylabel="share of the clusters", ylim=(0, 1)
    )
    axes.grid()
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _both(clusters: Sequence[Cluster]) -> Figure:
    figure = _figure()
    axes = figure.subplots()
    clock, table = (_shown(scores) for scores in scores_of(clusters))
    ends = [min(clock.min(), table.min()), max(clock.max(), table.max())]
    axes.plot(ends, ends, color=canvas.RULE)
    axes.plot(table, clock, "o", color=canvas.BEST, markersize=4.0)
    axes.set(xlabel="table score", ylabel="clock score")
    axes.grid()
    return figure


def _by_size(clusters: Sequence[Cluster]) -> Figure:
    figure = _figure()
    axes = figure.subplots()
    axes.axhline(1.0, color=canvas.RULE)
    axes.plot(
        [one.workers for one in clusters],
        _shown(scores_of(clusters)[0]),
        "o",
        color=canvas.BEST,
        markersize=4.0,
    )
    axes.set(xlabel="workers", ylabel="clock score", xscale="log")
    axes.grid()
    return figure
