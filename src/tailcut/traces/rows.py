"""Rows of numbers and coded labels, one entry per row of the file, which all long formats are read into."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from tailcut.traces.names import Name
from tailcut.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column of few distinct labels.

    Checks and conversions run once per label, not once per row, which makes millions of rows cheap.

    Attributes:
        codes: `(rows,)` positions in `labels`.
        labels: the distinct labels; None where a cell is empty.
    """

    codes: IntArray
    labels: tuple[Name | None, ...]

    @staticmethod
    def of(values: Iterable[Name | None]) -> Coded:
        """Code plain Python values, all of them text, integers or None."""
        index: dict[Name | None, int] = {}
        codes = np.fromiter((index.setdefault(value, len(index)) for value in values), dtype=np.int64)
        return Coded(codes, tuple(index))

    def map(self, convert: Callable[[Name | None], Name | None]) -> Coded:
        """Return the same rows with converted labels; labels that become equal are joined."""
        joined = Coded.of(convert(label) for label in self.labels)
        return Coded(joined.codes[self.codes], joined.labels)

    def first(self, is_bad: Callable[[Name | None], bool]) -> int | None:
        """Index of the first row whose label is bad, or None."""
        bad = np.fromiter((is_bad(label) for label in self.labels), dtype=np.bool_, count=len(self.labels))
        return first_true(bad[self.codes]) if bad.any() else None

    def label(self, index: int) -> Name | None:
        """The label of row `index`."""
        return self.labels[int(self.codes[index])]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The rows of a long file, in the file's order.

    Attributes:
        rounds: `(rows,)` the source's round numbers.
        workers: the source's worker names.
        seconds: `(rows,)` run times, which `pivot` checks.
        observed: `(rows,)`, or None where all are observed.
        nodes: the source's node names, or None where no node is known.
    """

    rounds: IntArray
    workers: Coded
    seconds: FloatArray
    observed: BoolArray | None
    nodes: Coded | None

    def __len__(self) -> int:
        return len(self.rounds)


def first_true(flags: BoolArray) -> int | None:
    """Index of the first true entry of `flags`, or None."""
    index = int(flags.argmax()) if len(flags) else 0
    return index if len(flags) and flags[index] else None
