"""The rounds of a table with their arrivals in order, from which all bounds are computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailcut.table import Table
from tailcut.types import BoolArray, FloatArray, IntArray, Seconds

FAR = 1e300
"""Seconds that stand for "never"; finite, so that sums and products stay numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class SortedRounds:
    """The arrivals of each round in order.

    Attributes:
        arrivals: `(rounds, workers)` seconds, increasing along a row, `FAR` beyond the last.
        available: `(rounds,)` number of gradients that arrive at all.
        settled: `(rounds,)` seconds until every worker has arrived or is known not to arrive.
    """

    arrivals: FloatArray
    available: IntArray
    settled: FloatArray

    @staticmethod
    def of(table: Table) -> SortedRounds:
        """Sort the rounds of a table."""
        return SortedRounds.of_rows(table.seconds, table.observed)

    @staticmethod
    def of_rows(seconds: FloatArray, observed: BoolArray) -> SortedRounds:
        """Sort `(rounds, workers)` run times and whether they are observed, as in a table."""
        ordered = np.sort(np.where(observed, seconds, np.inf), axis=1)
        available = np.isfinite(ordered).sum(axis=1)
        settled = np.nanmax(seconds, axis=1)
        return SortedRounds(np.where(np.isfinite(ordered), ordered, FAR), available, settled)

    def after(self, skip: int) -> SortedRounds:
        """Return the rounds after the first `skip` ones."""
        return SortedRounds(self.arrivals[skip:], self.available[skip:], self.settled[skip:])

    def cut_at_count(self, count: int) -> tuple[IntArray, FloatArray]:
        """Return `(rounds,)` gradients and seconds of waiting for `count` workers, or for all that come."""
        close = np.where(self.available >= count, self.arrivals[:, count - 1], self.settled)
        return self.in_by(close), close

    def cut_at_time(self, seconds: Seconds) -> tuple[IntArray, FloatArray]:
        """Return `(rounds,)` gradients and seconds of closing after `seconds`, but after a first arrival."""
        close = np.maximum(np.minimum(seconds, self.settled), np.minimum(self.arrivals[:, 0], self.settled))
        return self.in_by(close), close

    def in_by(self, elapsed: FloatArray) -> IntArray:
        """Return `(rounds,)` gradients that arrive in the first `elapsed[t]` seconds of round t."""
        counts: IntArray = (self.arrivals <= elapsed[:, None]).sum(axis=1)
        return counts
