"""Write a run-time table to a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from tailcut.atomic import replacing
from tailcut.errors import TableError
from tailcut.table import Table
from tailcut.traces.checks import refuse_cells, refuse_names, refuse_shape, refuse_unobserved
from tailcut.traces.csv_format import write_csv
from tailcut.traces.dense import write_dense
from tailcut.traces.endings import by_ending
from tailcut.traces.json_lines import write_json_lines
from tailcut.traces.parquet_format import write_parquet
from tailcut.traces.place import SECONDS, WORKER, source_of

WRITERS: dict[str, Callable[[Table, IO[bytes], str], None]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".jsonl": write_json_lines,
    ".ndjson": write_json_lines,
    ".npz": write_dense,
}


def write_table(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a run-time table; the file's ending determines the format.

    An existing file is replaced atomically, and only if writing succeeded. `read_table` returns the same
    table: seconds bit for bit, names with their types, nodes numbered by first appearance. Long formats put
    the workers in natural order.

    Args:
        table: the table to write.
        path: a `.csv`, `.parquet`, `.jsonl`, `.ndjson` or `.npz` file in an existing folder.

    Raises:
        TableError: this format cannot represent the table, or the file cannot be written.
    """
    file = Path(path)
    write = by_ending(file, WRITERS)
    source = source_of(file)
    _refuse_unreadable(table, source)
    try:
        with replacing(file) as draft:
            write(table, draft, source)
    except (OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise _unwritable(source, error) from error


def _refuse_unreadable(table: Table, source: str) -> None:
    """Raise if the file could be written but not be read again."""
    refuse_shape(table.rounds, table.names, source)
    refuse_names(table.names, WORKER, source)
    present = ~np.isnan(table.seconds)
    refuse_cells(table.seconds, present, SECONDS, source)
    refuse_unobserved(table.observed & present, source)


def _unwritable(source: str, error: Exception) -> TableError:
    why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
    remedy = "check that the folder exists, that you may write there and that the disk has room"
    return TableError(source, f"the file cannot be written ({why})", remedy=remedy)
