"""Conversion of a table to rows, as an Arrow table with the columns of a long file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tailcut.errors import TableError
from tailcut.table import Table
from tailcut.traces.names import Name, integer_or_text
from tailcut.traces.place import NODE, OBSERVED, ROUND, SECONDS, WORKER
from tailcut.types import NO_NODE, BoolArray, IntArray


def long_table(table: Table, source: str) -> Any:
    """Return an Arrow table of one row per present cell, by round, then worker.

    The optional columns are left out where they hold only default values. Names that are partly integers and
    partly text become text. Unknown nodes are null.
    """
    present = ~np.isnan(table.seconds)
    refuse_empty(present, table.names, source)
    rounds, workers = np.nonzero(present)
    out = {
        ROUND: pa.array(rounds),
        WORKER: name_column(table.names).take(pa.array(workers)),
        SECONDS: pa.array(table.seconds[present]),
    }
    if not table.observed[present].all():
        out[OBSERVED] = pa.array(table.observed[present])
    if (table.nodes != NO_NODE).any():
        out[NODE] = _node_column(table.nodes).take(pa.array(workers))
    return pa.table(out)


def name_column(names: Sequence[Name]) -> Any:
    """Return an Arrow array of all `names`: integers if all names are integers, text otherwise."""
    if all(isinstance(name, int) for name in names):
        return pa.array(names, pa.int64())
    return pa.array([str(name) for name in names], pa.string())


def is_mixed(names: Sequence[Name]) -> bool:
    """Return whether some of `names` are text and some integers."""
    return len({isinstance(name, int) for name in names}) > 1


def refuse_ambiguous(names: Sequence[Name], source: str) -> None:
    """Raise if a text name would be read back as an integer from a column that holds both."""
    for name in names:
        if isinstance(name, str) and isinstance(integer_or_text(name), int):
            raise TableError(
                source,
                "this text name would be read back as an integer",
                remedy="rename the worker, make the name an integer, or write .jsonl or .npz",
                column=WORKER,
                value=name,
            )


def refuse_empty(present: BoolArray, names: Sequence[Name], source: str) -> None:
    """Raise if a round or a worker has no cell, because a long file would have no row for it."""
    remedy = "leave it out of the table, or write .npz"
    if not present.any(axis=1).all():
        row = int(present.any(axis=1).argmin())
        raise TableError(source, f"round {row} (counted from 0) has no run time at all", remedy=remedy)
    if not present.any(axis=0).all():
        name = names[int(present.any(axis=0).argmin())]
        raise TableError(source, "a worker has no run time at all", remedy=remedy, column=WORKER, value=name)


def _node_column(nodes: IntArray) -> Any:
    return pa.array(nodes, mask=nodes == NO_NODE)
