"""All rounds at once, where nothing carries over from one to the next: for fixed cutoffs and for bounds.

Equal to `replay` round by round (a test checks that), in the time of a partition of the table.
"""

from __future__ import annotations

import numpy as np

from tailcut.engines.simulated.run import Run
from tailcut.table import Table
from tailcut.types import BoolArray, FloatArray, IntArray, Seconds


def first_arrivals(table: Table, count: int, overhead: Seconds = 0.0) -> Run:
    """Close every round when `count` workers are in, with all that arrive at that instant. The table must be whole."""
    if not table.whole:
        raise ValueError("Some run times of the table are censored or absent; use replay() instead.")
    times = table.seconds
    if count >= table.workers:
        elapsed = times.max(axis=1)
        accepted = np.ones(times.shape, dtype=np.bool_)
        spent = times.sum(axis=1)
    else:
        elapsed = np.partition(times, count - 1, axis=1)[:, count - 1]
        accepted = times <= elapsed[:, None]
        spent = np.einsum("ij,ij->i", times, accepted)
    counts = accepted.sum(axis=1)
    return _run(table, elapsed, counts, accepted, counts * elapsed - spent, overhead)


def closing_at(table: Table, elapsed: FloatArray, overhead: Seconds = 0.0) -> Run:
    """Close round t after `elapsed[t]` seconds with all that have arrived by then, at that very instant included."""
    arrivals = table.arrivals()
    accepted = arrivals <= elapsed[:, None]
    counts = accepted.sum(axis=1)
    waited = np.where(accepted, elapsed[:, None] - np.where(accepted, arrivals, 0.0), 0.0)
    return _run(table, elapsed, counts, accepted, waited.sum(axis=1), overhead)


def _run(
    table: Table,
    elapsed: FloatArray,
    counts: IntArray,
    accepted: BoolArray,
    idle: FloatArray,
    overhead: Seconds,
) -> Run:
    present = (~np.isnan(table.seconds)).sum(axis=1) if not table.whole else None
    return Run(
        elapsed=elapsed,
        counts=counts,
        values=counts.astype(np.float64),
        accepted=accepted,
        idle=idle,
        present=np.full(table.rounds, table.workers, dtype=np.int64) if present is None else present,
        overhead=overhead,
        staleness=np.zeros(0, dtype=np.int64),
        opened=np.append(0.0, np.cumsum(elapsed + overhead)[:-1]),
    )
