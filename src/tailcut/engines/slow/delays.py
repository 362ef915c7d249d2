"""Delays of workers: a function of worker and mini-batch alone, whatever any policy does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.errors import InputError, ParameterError
from tailcut.table import Table
from tailcut.types import FloatArray, Seconds

LONGEST: Seconds = 120.0
"""Longest delay of one mini-batch, in seconds; beyond it a slow worker could be taken for a dead one."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Delays:
    """The delay of each mini-batch of each worker.

    Attributes:
        seconds: `(rows, workers)` delays, finite and 0 or more. A worker's mini-batch k takes row k; after
            the last row comes the first again.

    Example:
        >>> Delays(np.array([[0.1, 0.2], [0.3, 0.4]])).of(worker=1, number=3)
        0.4
    """

    seconds: FloatArray

    def of(self, worker: int, number: int) -> Seconds:
        """Return a worker's delay in seconds; mini-batches are counted from 0, dropped ones included."""
        return float(self.seconds[number % len(self.seconds), worker])


def no_delays(workers: int) -> Delays:
    """Return delays of 0 for all workers."""
    return Delays(np.zeros((1, workers)))


def delays_of(table: Table, workers: int, unit: Seconds) -> Delays:
    """Return the first workers' run times of a table, as delays.

    Rounds in which a worker took no part are skipped: its next run time follows at once. A run time that is
    only known to exceed some value counts as that value.

    Args:
        table: run times in units.
        workers: number of workers that take part.
        unit: seconds that a run time of 1 becomes.

    Raises:
        InputError: the table has too few workers, or one that never took part.
        ParameterError: the unit is not positive and finite, or delays would be too long.
    """
    if not 0.0 < unit < math.inf:
        raise ParameterError(f"--unit must be more than 0 seconds, but got {unit:g}. Try --unit 0.1.")
    if table.workers < workers:
        raise InputError(
            f"{table.source} has run times of {table.workers} workers, but {workers} are to be slowed down. Start at "
            f"most {table.workers}, or take another source."
        )
    columns = [_column(table, worker) for worker in range(workers)]
    with np.errstate(over="ignore"):
        seconds: FloatArray = unit * np.stack(columns, axis=1)
    longest = float(seconds.max())
    if longest > LONGEST:
        smaller = float(f"{0.8 * LONGEST / longest * unit:.1g}")
        raise ParameterError(
            f"With --unit {unit:g} a mini-batch of {table.source} would take up to {longest:g} s, and at most "
            f"{LONGEST:g} are possible. Try --unit {smaller:g}."
        )
    return Delays(seconds)


def _column(table: Table, worker: int) -> FloatArray:
    """Return `(rounds,)` a worker's own run times, repeated to fill the rounds that it missed."""
    there = table.seconds[:, worker]
    there = there[np.isfinite(there)]
    if not len(there):
        raise InputError(
            f"Worker {table.names[worker]!r} of {table.source} never took part, so nothing tells how slow it is. "
            "Leave its column out."
        )
    out: FloatArray = np.resize(there, table.rounds)
    return out
