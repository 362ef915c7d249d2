"""The common parts of all pages of a report, each of which is one self-contained HTML file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from tailcut.atomic import replacing
from tailcut.errors import InputError
from tailcut.report.style import STYLE
from tailcut.report.words import printable

if TYPE_CHECKING:
    from tailcut.report.draw import Drawing

# An additional safeguard: the browser must not load anything from anywhere.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def document(*, names: Iterable[str], heading: str, lead: str, command: str, parts: Iterable[str]) -> str:
    """Return a whole page.

    Args:
        names: names of the sources, for the title.
        heading: main heading.
        lead: the sentence before the command that made the page.
        command: that command.
        parts: the elements of the page, already escaped.
    """
    titles = ", ".join(printable(name) for name in names)
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>tailcut: {escape(titles)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>",
            f"<header>\n<h1>{escape(heading)}</h1>",
            f"<p>{escape(lead)}</p>",
            f"<pre><code>{text(command)}</code></pre>\n</header>",
            *parts,
            "</main>\n</body>\n</html>\n",
        ]
    )


def save(page: str, path: str | Path) -> None:
    """Write a page atomically: a failure leaves an existing file unchanged.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        with replacing(Path(path)) as file:
            file.write(page.encode())
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InputError(
            f"The page cannot be written to {printable(str(path))!r}: {why}. Remedy: name a file in a folder "
            "that exists and may be written to."
        ) from error


def contents(entries: Sequence[tuple[str, str]]) -> list[str]:
    """Return links to the sections of `(source, sentence)`, numbered from 1; none for a single section."""
    if len(entries) < 2:
        return []
    items = [
        f'<li><a href="#source-{number}">{text(name)}</a>: {sentence(said)}</li>'
        for number, (name, said) in enumerate(entries, start=1)
    ]
    return ["<nav>\n<ul>\n" + "\n".join(items) + "\n</ul>\n</nav>"]


def section(
    number: int,
    *,
    name: str,
    about: str,
    setting: str,
    lead: str,
    details: str,
    notes: Iterable[str],
    table: str,
    figures: Iterable[Drawing],
) -> str:
    """Return the section of one source: its description, results, table and figures."""
    return "\n".join(
        [
            f'<section id="source-{number}">\n<h2>{text(name)}</h2>',
            *([f'<p class="about">{text(about)}</p>'] if about != name else []),
            f'<p class="setting">{sentence(setting)}</p>',
            f'<p class="lead">{sentence(lead)}</p>',
            *([f"<p>{sentence(details)}</p>"] if details else []),
            *(f'<p class="note" role="note">{sentence(note)}</p>' for note in notes),
            table,
            '<div class="figures">',
            *(_figure(figure) for figure in figures),
            "</div>\n</section>",
        ]
    )


def figures_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], bounds: Sequence[Sequence[str]]
) -> str:
    """Return a table of texts whose first row is marked as the best; `bounds` follow below a rule."""
    # The browser breaks lines; remove the breaks inside words.
    heads = "".join(f'<th scope="col">{escape(h.replace("-" + chr(10), ""))}</th>' for h in headings)
    usual = [_row(row, number == 0) for number, row in enumerate(rows)]
    others = [_row(row, False) for row in bounds]
    return "\n".join(
        [
            f'<div class="figures-table" tabindex="0">\n<table>\n<thead><tr>{heads}</tr></thead>',
            *(["<tbody>", *usual, "</tbody>"] if usual else []),
            *(['<tbody class="bounds">', *others, "</tbody>"] if others else []),
            "</table>\n</div>",
        ]
    )


def glossary(entries: Iterable[tuple[str, str]]) -> str:
    """Return the section that explains the columns, from `(title, meaning)` of each."""
    items = [f"<dt>{escape(title)}</dt><dd>{escape(meaning)}</dd>" for title, meaning in entries]
    return "<section>\n<h2>The columns</h2>\n<dl>\n" + "\n".join(items) + "\n</dl>\n</section>"


def text(plain: str) -> str:
    """Return text escaped for HTML."""
    return escape(printable(plain))


def sentence(plain: str) -> str:
    """Return text escaped for HTML, with code elements for text in back-ticks."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", text(plain))


def _row(cells: Sequence[str], best: bool) -> str:
    name, *rest = map(escape, cells)
    mark = ' class="best"' if best else ""
    return f'<tr{mark}><th scope="row">{name}</th>' + "".join(f"<td>{cell}</td>" for cell in rest) + "</tr>"


def _figure(drawing: Drawing) -> str:
    caption = f"<figcaption><h3>{escape(drawing.title)}</h3>{escape(drawing.caption)}</figcaption>"
    return f"<figure>\n{caption}\n{drawing.svg}\n</figure>"
