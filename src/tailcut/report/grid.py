"""A table of texts for a terminal, which leaves out the least important columns to fit the width."""

from __future__ import annotations

from dataclasses import dataclass

from rich.box import Box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

# The table has no frame, only a rule under the headings and one above the bounds.
_RULED = Box("    \n    \n ── \n    \n ── \n ── \n    \n    \n")
_GAP = 2
_LONGEST_NAME = 28
_ASCII = str.maketrans({"→": ">", "–": "-", "−": "-", "…": "~", "“": '"', "”": '"', "’": "'"})


@dataclass(frozen=True, slots=True)
class Grid:
    """Headings and rows of texts; the first column holds the names.

    Attributes:
        headings: headings, with line breaks where a narrow table may break them.
        ranks: rank of each column; 0 is always shown, and the highest ranks are left out first.
        rows: rows with one text per heading.
        bounds: rows below a rule.
    """

    headings: tuple[str, ...]
    ranks: tuple[int, ...]
    rows: tuple[tuple[str, ...], ...]
    bounds: tuple[tuple[str, ...], ...]

    def fitting(self, width: int) -> tuple[list[int], list[int]]:
        """Return the columns that fit into `width` characters, and those left out, in order of removal."""
        shown, left_out = list(range(len(self.headings))), []
        while self._width(shown) > width and any(self.ranks[column] for column in shown):
            last = max(shown, key=lambda column: self.ranks[column])
            shown.remove(last)
            left_out.append(last)
        return shown, left_out

    def table(self, shown: list[int], plain: bool) -> Table:
        """Return a rich table of the columns in `shown`, in ASCII if `plain`."""
        table = Table(box=_RULED, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for column in shown:
            name = column == shown[0]
            table.add_column(
                spelt(self.headings[column], plain),
                justify="left" if name else "right",
                # Fold names instead of cutting them: their parameters distinguish them.
                overflow="fold",
                no_wrap=not name,
                min_width=None if name else self._column_width(column),
                max_width=_LONGEST_NAME,
            )
        for row in self.rows:
            table.add_row(*(Text(spelt(row[column], plain)) for column in shown))
        table.add_section()
        for row in self.bounds:
            table.add_row(*(Text(spelt(row[column], plain)) for column in shown), style="dim")
        return table

    def _width(self, some: list[int]) -> int:
        return sum(self._column_width(column) for column in some) + _GAP * (len(some) - 1)

    def _column_width(self, column: int) -> int:
        cells = [row[column] for row in (*self.rows, *self.bounds)]
        widest = max(cell_len(text) for text in [*cells, *self.headings[column].split("\n")])
        return min(widest, _LONGEST_NAME)


def title_of(heading: str) -> str:
    """Return a heading on one line."""
    return heading.replace("-\n", "").replace("–\n", "–").replace("\n", " ")


def spelt(text: str, plain: bool) -> str:
    """Return `text`, in ASCII if `plain`."""
    if not plain:
        return text
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
