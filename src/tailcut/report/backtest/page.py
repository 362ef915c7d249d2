"""The backtest as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from tailcut.report import html
from tailcut.report.backtest.columns import COLUMNS, bounds, columns, forecasters
from tailcut.report.backtest.words import outcome, setting
from tailcut.study.backtest_facts import Backtest, BacktestFacts


def write_backtest_page(found: Backtest, path: str | Path) -> None:
    """Write the backtest as one self-contained page; the same facts give the same bytes.

    Args:
        found: the results of the backtest.
        path: the file to create or to replace atomically: a failure leaves an existing file unchanged.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InputError: the file cannot be written.
    """
    sources = found.sources
    used = [column for column in COLUMNS if any(column.shown(source) for source in sources)]
    page = html.document(
        names=[source.source for source in sources],
        heading="How well the next round is foreseen",
        lead="Every forecaster forecast each round from those before it. This page was made by",
        command=found.command,
        parts=[
            *html.contents([(source.source, outcome(source)) for source in sources]),
            *(_section(source, number) for number, source in enumerate(sources, start=1)),
            html.glossary((column.title, column.meaning) for column in used),
        ],
    )
    html.save(page, path)


def _section(source: BacktestFacts, number: int) -> str:
    # Imported only here, so that the terminal and the JSON do not need the extra.
    from tailcut.report.draw.backtest_figures import backtest_drawings

    some = columns(source)
    return html.section(
        number,
        name=source.source,
        about=source.about,
        setting=setting(source),
        lead=outcome(source),
        details="",
        notes=source.notes,
        table=html.figures_table(
            [column.heading for column in some],
            [[column.cell(facts) for column in some] for facts in forecasters(source)],
            [[column.cell(facts) for column in some] for facts in bounds(source)],
        ),
        figures=backtest_drawings(source, number),
    )
