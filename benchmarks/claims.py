"""A claim and whether it holds; how tables are printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

WIDTH = 230


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence with its limit, what was found, and whether that is within the limit."""

    text: str
    found: str
    holds: bool

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'DOES NOT HOLD'}: {self.text}; found {self.found}"


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows of cells; the first column is text, the others are figures."""
    table = Table(title=title, title_justify="left")
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    Console(width=WIDTH).print(table)
