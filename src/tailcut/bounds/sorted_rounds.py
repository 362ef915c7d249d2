"""The rounds of a table with their arrivals in order: what every bound looks at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailcut.table import Table
from tailcut.types import FloatArray, IntArray, Seconds

FAR = 1e300
"""Stands for "never": finite, so that sums and products stay numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class SortedRounds:
    """Arrivals of each round in order.

    Attributes:
        arrivals: `(rounds, workers)` seconds, increasing along a row, `FAR` beyond the last.
        available: `(rounds,)` gradients that ever come.
        settled: `(rounds,)` seconds until everybody has come or is known to be gone.
    """

    arrivals: FloatArray
    available: IntArray
    settled: FloatArray

    @staticmethod
    def of(table: Table) -> SortedRounds:
        """Sort a table."""
        ordered = np.sort(table.arrivals(), axis=1)
        available = np.isfinite(ordered).sum(axis=1)
        settled = np.nanmax(table.seconds, axis=1)
        return SortedRounds(np.where(np.isfinite(ordered), ordered, FAR), available, settled)

    def after(self, skip: int) -> SortedRounds:
        """Without the first `skip` rounds."""
        return SortedRounds(self.arrivals[skip:], self.available[skip:], self.settled[skip:])

    def cut_at_count(self, count: int) -> tuple[IntArray, FloatArray]:
        """`(rounds,)` gradients and seconds when the first `count` are waited for, or all that come."""
        counts = np.minimum(count, self.available)
        return counts, np.where(self.available >= count, self.arrivals[:, count - 1], self.settled)

    def cut_at_time(self, seconds: Seconds) -> tuple[IntArray, FloatArray]:
        """`(rounds,)` gradients and seconds when closing after `seconds`, though never with nothing."""
        close = np.maximum(np.minimum(seconds, self.settled), np.minimum(self.arrivals[:, 0], self.settled))
        in_time = (self.arrivals <= seconds).sum(axis=1)
        # After the deadline the first arrival closes the round, whoever else comes at the same instant.
        return np.maximum(in_time, np.minimum(self.available, 1)), close
