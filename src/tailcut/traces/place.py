"""The position of an error in a file, as a `TableError` reports it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailcut.errors import TableError, one_line

ROUND, WORKER, SECONDS, OBSERVED, NODE = COLUMNS = ("round", "worker", "seconds", "observed", "node")
"""The columns of a long file that are read; others are ignored."""

LINES = "row 1 is the first line of the file"
"""The explanation of row numbers in messages about text files."""

NEEDED = (ROUND, WORKER, SECONDS)
"""The required columns of a long file."""


@dataclass(frozen=True, slots=True)
class Place:
    """A long file, and how its rows are counted in messages.

    Attributes:
        source: name of the file in messages.
        row_of: gives the row number for the user from the index of a data row, counted from 0. It may be
            slow: it is called for messages only.
        counting: explanation of the row number in messages.
    """

    source: str
    row_of: Callable[[int], int]
    counting: str

    def refusal(
        self, index: int, column: str | None, problem: str, *, remedy: str, value: object = None
    ) -> TableError:
        """Return the error for data row `index`; the caller raises it."""
        return TableError(
            self.source,
            problem,
            remedy=f"{remedy} ({self.counting})",
            row=self.row_of(index),
            column=column,
            value=value,
        )

    def missing(self, index: int, column: str) -> TableError:
        """Return the error for an empty cell."""
        if column in NEEDED:
            remedy = "give a value or drop the row"
        else:
            remedy = "give a value in every row, or leave the column out of all"
        return self.refusal(index, column, "a value is missing", remedy=remedy)


def source_of(path: Path) -> str:
    """Return the name of a file in messages; long paths are not shortened."""
    return one_line(path, most=10_000)


def refuse_columns(found: Sequence[str], source: str) -> None:
    """Raise if a required column is missing, or a known column is there twice."""
    for column in COLUMNS:
        if found.count(column) > 1:
            raise TableError(
                source,
                f"the column is there {found.count(column)} times",
                remedy="keep one of them and rename the others",
                column=column,
            )
    for column in NEEDED:
        if column not in found:
            listed = one_line(", ".join(map(repr, found)))
            raise TableError(
                source,
                f"there is no such column, only {listed}" if found else "the file has no columns",
                remedy=f"name the columns {ROUND}, {WORKER}, {SECONDS} and optionally {OBSERVED}, {NODE}",
                column=column,
            )
