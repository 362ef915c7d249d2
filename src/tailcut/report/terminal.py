"""The comparison of one source for a terminal: a table that fits the width, then a few sentences."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from tailcut.report.columns import columns
from tailcut.report.grid import Grid, spelt
from tailcut.report.ranking import bounds, policies
from tailcut.report.words import outcome, printable, setting
from tailcut.study.facts import SourceFacts


def terminal_table(source: SourceFacts) -> SourceTable:
    """Return a rich renderable for one source: `console.print(terminal_table(source))`."""
    return SourceTable(source)


class SourceTable:
    """A rich renderable of a source, which leaves out columns that do not fit the width it is printed in."""

    def __init__(self, source: SourceFacts) -> None:
        self._source = source

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield title, table and sentences."""
        source, plain = self._source, options.ascii_only
        some, grid = columns(source), _grid(source)
        shown, left_out = grid.fitting(options.max_width)
        title = Text(spelt(printable(source.source), plain), style="bold")
        yield Text.assemble(title, "  ", (spelt(setting(source), plain), "dim"))
        if source.about and source.about != source.source:
            yield Text(spelt(printable(source.about), plain), style="dim")
        yield Text()
        yield grid.table(shown, plain)
        if left_out:
            titles = ", ".join(some[column].title for column in left_out)
            yield Text(spelt(f"Left out for want of room: {titles}.", plain), style="dim")
        yield Text()
        yield Text(spelt(outcome(source), plain), style="bold")
        for note in source.notes:
            yield Text(spelt(f"Note: {printable(note)}", plain), style="yellow")


def _grid(source: SourceFacts) -> Grid:
    some = columns(source)
    return Grid(
        tuple(column.heading for column in some),
        tuple(column.rank for column in some),
        tuple(tuple(column.cell(source, facts) for column in some) for facts in policies(source)),
        tuple(tuple(column.cell(source, facts) for column in some) for facts in bounds(source)),
    )
