"""A study for a terminal: one table per task and cluster."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from tailcut.report.grid import Grid
from tailcut.report.grid import spelt as spelt_plainly
from tailcut.report.study.columns import columns
from tailcut.report.study.ranking import ranked
from tailcut.report.study.words import comparison, headline, setting
from tailcut.report.words import printable
from tailcut.study.grid.facts import CaseFacts

_ASCII = str.maketrans({"≥": ">=", "∞": "inf", "×": "x"})


def case_table(case: CaseFacts) -> CaseTable:
    """Return a rich renderable for one task on one cluster: `console.print(case_table(case))`."""
    return CaseTable(case)


class CaseTable:
    """A rich renderable of a case, which leaves out columns that do not fit the width it is printed in."""

    def __init__(self, case: CaseFacts) -> None:
        self._case = case

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield title, table and sentences."""
        case, plain = self._case, options.ascii_only
        some = columns(case)
        rows = tuple(
            tuple(spelt(column.cell(case, facts), plain) for column in some) for facts in ranked(case)
        )
        grid = Grid(tuple(column.heading for column in some), tuple(column.rank for column in some), rows, ())
        shown, left_out = grid.fitting(options.max_width)
        title = Text(spelt(printable(case.name), plain), style="bold")
        yield Text.assemble(title, "  ", (spelt(setting(case), plain), "dim"))
        yield Text()
        yield grid.table(shown, plain)
        if left_out:
            titles = ", ".join(some[column].title for column in left_out)
            yield Text(spelt(f"Left out for want of room: {titles}.", plain), style="dim")
        yield Text()
        yield Text(spelt(headline(case), plain), style="bold")
        if comparison(case):
            yield Text(spelt(comparison(case), plain))
        for note in case.notes:
            yield Text(spelt(f"Note: {printable(note)}", plain), style="yellow")


def spelt(text: str, plain: bool) -> str:
    """Return `text`, in ASCII if `plain`."""
    return spelt_plainly(text.translate(_ASCII), True) if plain else text
