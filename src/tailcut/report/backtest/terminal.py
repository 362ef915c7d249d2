"""The backtest of one source for a terminal."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from tailcut.report.backtest.columns import Column, bounds, columns, forecasters
from tailcut.report.backtest.words import outcome, setting
from tailcut.report.grid import Grid, spelt
from tailcut.report.words import printable
from tailcut.study.backtest_facts import BacktestFacts, ForecasterFacts


def backtest_table(source: BacktestFacts) -> BacktestTable:
    """Return a rich renderable for one source: `console.print(backtest_table(source))`."""
    return BacktestTable(source)


class BacktestTable:
    """A rich renderable of a source, which leaves out columns that do not fit the width it is printed in."""

    def __init__(self, source: BacktestFacts) -> None:
        self._source = source

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield title, table and sentences."""
        source, plain = self._source, options.ascii_only
        some = columns(source)
        grid = Grid(
            tuple(column.heading for column in some),
            tuple(column.rank for column in some),
            tuple(_row(facts, some) for facts in forecasters(source)),
            tuple(_row(facts, some) for facts in bounds(source)),
        )
        shown, left_out = grid.fitting(options.max_width)
        title = Text(spelt(printable(source.source), plain), style="bold")
        yield Text.assemble(title, "  ", (spelt(setting(source), plain), "dim"))
        if source.about and source.about != source.source:
            yield Text(spelt(printable(source.about), plain), style="dim")
        yield Text()
        yield grid.table(shown, plain)
        if left_out:
            titles = "; ".join(some[column].title for column in left_out)
            yield Text(spelt(f"Left out for want of room: {titles}.", plain), style="dim")
        yield Text()
        yield Text(spelt(outcome(source), plain), style="bold")
        for note in source.notes:
            yield Text(spelt(f"Note: {printable(note)}", plain), style="yellow")


def _row(facts: ForecasterFacts, some: list[Column]) -> tuple[str, ...]:
    return tuple(column.cell(facts) for column in some)
