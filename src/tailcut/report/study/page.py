"""A study as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailcut.report import html
from tailcut.report.study.columns import COLUMNS, Column, columns
from tailcut.report.study.headline import headline_table
from tailcut.report.study.ranking import ranked, winner
from tailcut.report.study.words import comparison, headline, setting
from tailcut.study.grid.facts import CaseFacts, StudyFacts

if TYPE_CHECKING:
    from tailcut.report.study.draw.look import Looks


def write_study_page(study: StudyFacts, command: str, path: str | Path) -> None:
    """Write the study as one self-contained page; the same facts give the same bytes.

    Args:
        study: the results of the study.
        command: the command that made the page.
        path: the file to create or to replace atomically: a failure leaves an existing file unchanged.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InputError: the file cannot be written.
    """
    # Imported only here, so that the terminal and the JSON do not need the extra.
    from tailcut.report.study.draw import looks

    every = looks(study.arms)
    used = [column for column in COLUMNS if any(column.shown(case) for case in study.cases)]
    page = html.document(
        names=[study.name],
        heading=f"{study.name}: time to target",
        lead="Nets trained with real gradients on a virtual clock, with the same delays and the same data for every "
        "arm of a seed. This page was made by",
        command=command,
        parts=[
            *(f'<p class="note" role="note">{html.sentence(note)}</p>' for note in study.notes),
            *html.contents([(case.name, headline(case)) for case in study.cases]),
            *([headline_table(study)] if len(study.cases) > 1 else []),
            *(_section(case, number, every) for number, case in enumerate(study.cases, start=1)),
            html.glossary((column.title, column.meaning) for column in used),
        ],
    )
    html.save(page, path)


def _section(case: CaseFacts, number: int, looks: Looks) -> str:
    from tailcut.report.study.draw import case_drawings

    name, *some = columns(case)
    results = [name, *(column for column in some if column.headline)]
    costs = [name, *(column for column in some if not column.headline)]
    return html.section(
        number,
        name=case.name,
        about=case.name,
        setting=setting(case),
        lead=headline(case),
        details=comparison(case),
        notes=case.notes,
        table="\n".join([_table(case, results), _table(case, costs)]),
        figures=case_drawings(case, number, looks),
    )


def _table(case: CaseFacts, some: list[Column]) -> str:
    rows = [[column.cell(case, facts) for column in some] for facts in ranked(case)]
    headings = [column.heading for column in some]
    # `figures_table` marks the first row as the best; without a winner no row may be marked.
    return html.figures_table(headings, rows, []) if winner(case) else html.figures_table(headings, [], rows)
