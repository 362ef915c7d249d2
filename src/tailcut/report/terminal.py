"""The comparison of one source for a terminal: a table as wide as there is room for, then a few sentences."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import Box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from tailcut.report.columns import Column, columns
from tailcut.report.ranking import bounds, policies
from tailcut.report.words import outcome, printable, setting
from tailcut.study.facts import PolicyFacts, SourceFacts

# No frame: only a rule under the headings and one above the bounds.
_RULED = Box("    \n    \n ── \n    \n ── \n ── \n    \n    \n")
_GAP = 2
_LONGEST_NAME = 28
_ASCII = str.maketrans({"→": ">", "–": "-", "…": "~", "“": '"', "”": '"', "’": "'"})


def terminal_table(source: SourceFacts) -> SourceTable:
    """What to print for one source with rich: `console.print(terminal_table(source))`."""
    return SourceTable(source)


class SourceTable:
    """A rich renderable. It learns the width only when it is printed, and leaves out columns to fit."""

    def __init__(self, source: SourceFacts) -> None:
        self._source = source

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Title, table, sentences."""
        source, plain = self._source, options.ascii_only
        shown, left_out = _fitting(source, options.max_width)
        title = Text(_spelt(printable(source.source), plain), style="bold")
        yield Text.assemble(title, "  ", (_spelt(setting(source), plain), "dim"))
        if source.about and source.about != source.source:
            yield Text(_spelt(printable(source.about), plain), style="dim")
        yield Text()
        yield _table(source, shown, plain)
        if left_out:
            titles = ", ".join(column.title for column in left_out)
            yield Text(_spelt(f"Left out for want of room: {titles}.", plain), style="dim")
        yield Text()
        yield Text(_spelt(outcome(source), plain), style="bold")
        for note in source.notes:
            yield Text(_spelt(f"Note: {printable(note)}", plain), style="yellow")


def _fitting(source: SourceFacts, width: int) -> tuple[list[Column], list[Column]]:
    """The columns that fit into `width` characters and those that do not."""
    shown, left_out = columns(source), []
    while _width(source, shown) > width and any(column.rank for column in shown):
        last = max(shown, key=lambda column: column.rank)
        shown.remove(last)
        left_out.append(last)
    return shown, left_out


def _width(source: SourceFacts, some: Sequence[Column]) -> int:
    return sum(_column_width(source, column) for column in some) + _GAP * (len(some) - 1)


def _column_width(source: SourceFacts, column: Column) -> int:
    cells = [column.cell(source, facts) for facts in source.policies]
    widest = max(cell_len(text) for text in [*cells, *column.heading.split("\n")])
    return min(widest, _LONGEST_NAME)


def _table(source: SourceFacts, shown: Sequence[Column], plain: bool) -> Table:
    table = Table(box=_RULED, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for column in shown:
        name = column is shown[0]
        table.add_column(
            _spelt(column.heading, plain),
            justify="left" if name else "right",
            # Names of policies are folded, not cut: their parameters tell them apart.
            overflow="fold",
            no_wrap=not name,
            min_width=None if name else _column_width(source, column),
            max_width=_LONGEST_NAME,
        )
    for facts in policies(source):
        table.add_row(*_row(source, facts, shown, plain))
    table.add_section()
    for facts in bounds(source):
        table.add_row(*_row(source, facts, shown, plain), style="dim")
    return table


def _row(source: SourceFacts, facts: PolicyFacts, shown: Sequence[Column], plain: bool) -> list[Text]:
    return [Text(_spelt(column.cell(source, facts), plain)) for column in shown]


def _spelt(text: str, plain: bool) -> str:
    """`text`, in ASCII where the terminal can print nothing else."""
    if not plain:
        return text
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
