"""The headline table: every task, cluster and arm, with the most important columns."""

from __future__ import annotations

from html import escape

from tailcut.report import html
from tailcut.report.study.columns import COLUMNS, Column
from tailcut.report.study.ranking import ranked, winner
from tailcut.report.study.words import headline
from tailcut.report.words import printable
from tailcut.study.grid.facts import CaseFacts, StudyFacts


def headline_columns(study: StudyFacts) -> list[Column]:
    """Return the headline columns that are of use for any of the cases."""
    return [column for column in COLUMNS if column.headline and any(map(column.shown, study.cases))]


def study_markdown(study: StudyFacts) -> str:
    """Return the headline table in Markdown, below the sentences of the cases."""
    some = headline_columns(study)
    titles = ["task", "cluster", *(column.title for column in some)]
    lines = [f"- {_escaped(case.name)}: {_escaped(headline(case))}" for case in study.cases]
    lines += ["", _line(titles), _line(["---"] * 3 + ["---:"] * (len(titles) - 3))]
    for case in study.cases:
        best = winner(case)
        for facts in ranked(case):
            cells = [_escaped(column.cell(case, facts)) for column in some]
            if facts is best:
                cells = [f"**{cell}**" for cell in cells]
            places = [_escaped(printable(case.setting.task)), _escaped(printable(case.setting.cluster))]
            lines.append(_line([*places, *cells]))
    return "\n".join(lines) + "\n"


def headline_table(study: StudyFacts) -> str:
    """Return the headline table in HTML, with one block of rows per case."""
    some = headline_columns(study)
    # The browser breaks lines; remove the breaks inside words.
    titles = [escape(column.heading.replace("-\n", "")) for column in some]
    heads = "".join(f'<th scope="col">{title}</th>' for title in titles)
    bodies = [_body(case, number, some) for number, case in enumerate(study.cases, start=1)]
    return "\n".join(
        [
            f'<div class="figures-table" tabindex="0">\n<table>\n<thead><tr>{heads}</tr></thead>',
            *bodies,
            "</table>\n</div>",
        ]
    )


def _body(case: CaseFacts, number: int, some: list[Column]) -> str:
    best = winner(case)
    link = f'<a href="#source-{number}" style="color:var(--policy)">{html.text(case.name)}</a>'
    style = 'style="border-top:2px solid var(--rule);padding-top:.8rem"'
    rows = [f'<tr><th scope="rowgroup" colspan="{len(some)}" {style}>{link}</th></tr>']
    for facts in ranked(case):
        name, *rest = (html.text(column.cell(case, facts)) for column in some)
        mark = ' class="best"' if facts is best else ""
        cells = "".join(f"<td>{cell}</td>" for cell in rest)
        rows.append(f'<tr{mark}><th scope="row">{name}</th>{cells}</tr>')
    return "\n".join(["<tbody>", *rows, "</tbody>"])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Escape the characters that would end a cell or begin a tag or emphasis; back-ticks stay."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
