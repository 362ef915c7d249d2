"""A reproduction as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from tailcut.report import html
from tailcut.study.reproduce.findings import Claim, Finding, Reproduction, Sheet, outcome

_STYLE = (
    "<style>\n"
    ".claims { grid-template-columns: max-content minmax(0, 60rem); }\n"
    ".claims dt { font-weight: 600; }\n"
    ".claims dt.holds { color: var(--static); }\n"
    ".claims dt.fails { color: var(--warn); }\n"
    ".claims dd { color: var(--ink); }\n"
    ".claims dd small { display: block; color: var(--muted); font-size: .9em; }\n"
    "table caption { caption-side: top; text-align: left; padding: .6rem .7rem 0; color: var(--muted); }\n"
    "</style>"
)


def write_reproduction_page(found: Reproduction, path: str | Path) -> None:
    """Write the reproduction as one self-contained page; the same findings give the same bytes.

    Args:
        found: the results of the reproduction.
        path: the file to create or to replace atomically: a failure leaves an existing file unchanged.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InputError: the file cannot be written.
    """
    page = html.document(
        names=[found.paper],
        heading=f"{found.paper}: what holds here",
        lead=f"{found.title}. A scaled-down version ({found.level}) of its experiments, in virtual time. This page was "
        "made by",
        command=found.command,
        parts=[
            _STYLE,
            f'<p class="lead">{html.sentence(outcome([claim for _, claim in found.claims]))}</p>',
            *html.contents([(finding.title, outcome(finding.claims)) for finding in found.findings]),
            *(_section(finding, number) for number, finding in enumerate(found.findings, start=1)),
            _reading(),
        ],
    )
    html.save(page, path)


def _section(finding: Finding, number: int) -> str:
    # Imported only here, so that terminal and JSON do not need the extra; `draw` reports a missing one.
    from tailcut.report import draw as draw
    from tailcut.report.reproduce.draw import plot_drawings

    return html.section(
        number,
        name=finding.title,
        about=finding.title,
        setting=finding.setting,
        lead=outcome(finding.claims),
        details="",
        notes=(),
        table="\n".join([_claims(finding.claims), *(_sheet(sheet) for sheet in finding.sheets)]),
        figures=plot_drawings(finding, number),
    )


def _claims(claims: tuple[Claim, ...]) -> str:
    items = [
        f'<dt class="{"holds" if claim.holds else "fails"}">{html.text(claim.verdict)}</dt>'
        f"<dd>{html.sentence(claim.text)}<small>{html.sentence(claim.figure)} ({html.text(claim.whose)})</small></dd>"
        for claim in claims
    ]
    return '<dl class="claims">\n' + "\n".join(items) + "\n</dl>"


def _sheet(sheet: Sheet) -> str:
    heads = "".join(f'<th scope="col">{html.text(heading)}</th>' for heading in sheet.headings)
    rows = [
        f'<tr><th scope="row">{html.text(row[0])}</th>'
        + "".join(f"<td>{html.text(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in sheet.rows
    ]
    return "\n".join(
        [
            f'<div class="figures-table" tabindex="0">\n<table>\n<caption>{html.text(sheet.title)}</caption>',
            f"<thead><tr>{heads}</tr></thead>\n<tbody>",
            *rows,
            "</tbody>\n</table>\n</div>",
        ]
    )


def _reading() -> str:
    return (
        "<section>\n<h2>How claims are judged</h2>\n<p>Figures are mean (worst–best) over the seeds. One arm counts as "
        "better than another if it is so on average and on at least two thirds of the seeds, both on the same run "
        "times and data. A claim that does not hold here may hold elsewhere: clusters and nets are not the paper's."
        "</p>\n</section>"
    )
