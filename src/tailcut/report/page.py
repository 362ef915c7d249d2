"""The comparison as one HTML file that needs nothing but itself."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from tailcut.errors import InputError
from tailcut.report.columns import COLUMNS, Column, columns
from tailcut.report.ranking import bounds, policies
from tailcut.report.style import STYLE
from tailcut.report.words import details, outcome, printable, setting
from tailcut.study.facts import Comparison, PolicyFacts, SourceFacts
from tailcut.traces.atomic import replacing

if TYPE_CHECKING:
    from tailcut.report.draw import Drawing

# Belt and braces: even a browser led astray may load nothing from anywhere.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write_page(comparison: Comparison, path: str | Path) -> None:
    """Write the comparison as one self-contained page; the same facts give the same bytes.

    Args:
        comparison: what was found.
        path: the file to create or replace, at once: a failure leaves what was there.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InputError: the file cannot be written.
    """
    page = _page(comparison).encode()
    try:
        with replacing(Path(path)) as file:
            file.write(page)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InputError(
            f"The page cannot be written to {printable(str(path))!r}: {why}. Remedy: name a file in a folder "
            "that exists and may be written to."
        ) from error


def _page(comparison: Comparison) -> str:
    # Only here, so that the terminal and the JSON do not need the extra.
    from tailcut.report.draw import drawings

    names = ", ".join(printable(source.source) for source in comparison.sources)
    sections = [
        _section(source, number, drawings(source, number))
        for number, source in enumerate(comparison.sources, start=1)
    ]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>tailcut: {escape(names)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>",
            "<header>\n<h1>What waiting for the slowest costs</h1>",
            "<p>Synchronous training, replayed under each policy. This page was made by</p>",
            f"<pre><code>{_text(comparison.command)}</code></pre>\n</header>",
            *([_contents(comparison)] if len(comparison.sources) > 1 else []),
            *sections,
            _glossary(comparison),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _contents(comparison: Comparison) -> str:
    items = [
        f'<li><a href="#source-{number}">{_text(source.source)}</a>: {_sentence(outcome(source))}</li>'
        for number, source in enumerate(comparison.sources, start=1)
    ]
    return "<nav>\n<ul>\n" + "\n".join(items) + "\n</ul>\n</nav>"


def _section(source: SourceFacts, number: int, figures: list[Drawing]) -> str:
    about = [f'<p class="about">{_text(source.about)}</p>'] if source.about != source.source else []
    return "\n".join(
        [
            f'<section id="source-{number}">\n<h2>{_text(source.source)}</h2>',
            *about,
            f'<p class="setting">{_sentence(setting(source))}</p>',
            f'<p class="lead">{_sentence(outcome(source))}</p>',
            *([f"<p>{_sentence(details(source))}</p>"] if details(source) else []),
            *(f'<p class="note" role="note">{_sentence(note)}</p>' for note in source.notes),
            _table(source),
            '<div class="figures">',
            *(_figure(figure) for figure in figures),
            "</div>\n</section>",
        ]
    )


def _table(source: SourceFacts) -> str:
    some = columns(source)
    heads = "".join(f'<th scope="col">{_heading(column)}</th>' for column in some)
    best = [_row(source, facts, some, number == 0) for number, facts in enumerate(policies(source))]
    others = [_row(source, facts, some, False) for facts in bounds(source)]
    return "\n".join(
        [
            f'<div class="figures-table" tabindex="0">\n<table>\n<thead><tr>{heads}</tr></thead>',
            *(["<tbody>", *best, "</tbody>"] if best else []),
            *(['<tbody class="bounds">', *others, "</tbody>"] if others else []),
            "</table>\n</div>",
        ]
    )


def _row(source: SourceFacts, facts: PolicyFacts, some: list[Column], best: bool) -> str:
    name, *cells = (escape(column.cell(source, facts)) for column in some)
    mark = ' class="best"' if best else ""
    return f'<tr{mark}><th scope="row">{name}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _figure(drawing: Drawing) -> str:
    caption = f"<figcaption><h3>{escape(drawing.title)}</h3>{escape(drawing.caption)}</figcaption>"
    return f"<figure>\n{caption}\n{drawing.svg}\n</figure>"


def _glossary(comparison: Comparison) -> str:
    used = [column for column in COLUMNS if any(column.shown(source) for source in comparison.sources)]
    entries = [f"<dt>{escape(column.title)}</dt><dd>{escape(column.meaning)}</dd>" for column in used]
    return "<section>\n<h2>The columns</h2>\n<dl>\n" + "\n".join(entries) + "\n</dl>\n</section>"


def _heading(column: Column) -> str:
    # On a page the browser breaks lines; only where two words meet may it do so.
    return escape(column.heading.replace("-\n", ""))


def _text(text: str) -> str:
    return escape(printable(text))


def _sentence(text: str) -> str:
    """Escaped, with what stands in back-ticks set as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", _text(text))
