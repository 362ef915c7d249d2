"""Checks of tables that all formats share, for reading and writing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailcut.errors import TableError, one_line
from tailcut.traces.limits import refuse_too_many
from tailcut.traces.names import Name, problem_of
from tailcut.traces.place import OBSERVED, WORKER
from tailcut.traces.rows import first_true
from tailcut.types import BoolArray, FloatArray


def bad_seconds(seconds: FloatArray) -> BoolArray:
    """True where a run time is not finite and > 0."""
    bad: BoolArray = ~(np.isfinite(seconds) & (seconds > 0))
    return bad


def refuse_shape(rounds: int, names: Sequence[Name], source: str) -> None:
    """Raise if there is no round, fewer than two workers, or more cells than a table holds."""
    if not rounds or not names:
        raise TableError(source, "there are no run times", remedy="record at least one round")
    if len(names) < 2:
        raise TableError(
            source,
            f"a table needs at least 2 workers, but the only one is {one_line(repr(names[0]), 60)}",
            remedy="record all workers of the job: with one there is nobody to wait for",
            column=WORKER,
        )
    refuse_too_many(rounds * len(names), f"{rounds:,} rounds of {len(names):,} workers", source)


def refuse_names(names: Sequence[Name], column: str, source: str) -> None:
    """Raise unless the workers' names differ and can be kept in every format."""
    seen: set[Name] = set()
    for name in names:
        problem = "the names of workers must differ" if name in seen else problem_of(name)
        if problem is not None:
            raise TableError(source, problem, remedy="rename the worker", column=column, value=name)
        seen.add(name)


def refuse_cells(seconds: FloatArray, present: BoolArray, column: str, source: str) -> None:
    """Raise unless all run times that are `present` are finite and > 0; both are `(rounds, workers)`."""
    bad = bad_seconds(seconds) & present
    index = first_true(bad.reshape(-1))
    if index is None:
        return
    row, worker = divmod(index, seconds.shape[1])
    raise TableError(
        source,
        f"the run time at round {row}, worker {worker} (counted from 0) must be finite and > 0 seconds",
        remedy="correct it, or mark it as absent (NaN in a table, present = false in npz)",
        column=column,
        value=float(seconds[row, worker]),
    )


def refuse_unobserved(observed: BoolArray, source: str) -> None:
    """Raise if all run times are censored: bounds alone cannot be learned from or replayed."""
    if not observed.any():
        raise TableError(
            source,
            "no run time is observed",
            remedy="record at least one run time to its end",
            column=OBSERVED,
        )
