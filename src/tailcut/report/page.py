"""The comparison as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from tailcut.report import html
from tailcut.report.columns import COLUMNS, columns
from tailcut.report.ranking import bounds, policies
from tailcut.report.words import details, outcome, setting
from tailcut.study.facts import Comparison, SourceFacts


def write_page(comparison: Comparison, path: str | Path) -> None:
    """Write the comparison as one self-contained page; the same facts give the same bytes.

    Args:
        comparison: the results of the comparison.
        path: the file to create or to replace atomically: a failure leaves an existing file unchanged.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InputError: the file cannot be written.
    """
    html.save(_page(comparison), path)


def _page(comparison: Comparison) -> str:
    sources = comparison.sources
    used = [column for column in COLUMNS if any(column.shown(source) for source in sources)]
    return html.document(
        names=[source.source for source in sources],
        heading="What waiting for the slowest costs",
        lead="Synchronous training, replayed under each policy. This page was made by",
        command=comparison.command,
        parts=[
            *html.contents([(source.source, outcome(source)) for source in sources]),
            *(_section(source, number) for number, source in enumerate(sources, start=1)),
            html.glossary((column.title, column.meaning) for column in used),
        ],
    )


def _section(source: SourceFacts, number: int) -> str:
    # Imported only here, so that the terminal and the JSON do not need the extra.
    from tailcut.report.draw import drawings

    return html.section(
        number,
        name=source.source,
        about=source.about,
        setting=setting(source),
        lead=outcome(source),
        details=details(source),
        notes=source.notes,
        table=_table(source),
        figures=drawings(source, number),
    )


def _table(source: SourceFacts) -> str:
    some = columns(source)
    return html.figures_table(
        [column.heading for column in some],
        [[column.cell(source, facts) for column in some] for facts in policies(source)],
        [[column.cell(source, facts) for column in some] for facts in bounds(source)],
    )
