"""Read a run-time table from a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tailcut.table import Table
from tailcut.traces.csv_format import read_csv
from tailcut.traces.dense import read_dense
from tailcut.traces.endings import by_ending, existing, unreadable
from tailcut.traces.json_lines import read_json_lines
from tailcut.traces.parquet_format import read_parquet
from tailcut.traces.place import source_of

READERS: dict[str, Callable[[Path, str], Table]] = {
    ".csv": read_csv,
    ".parquet": read_parquet,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".npz": read_dense,
}


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a run-time table; the file's ending determines its format.

    Args:
        path: a `.csv`, `.parquet`, `.jsonl`, `.ndjson` or `.npz` file, laid out as in `tailcut.traces`.

    Returns:
        The table: seconds `(rounds, workers)`, NaN where a worker took no part.

    Raises:
        TableError: the file has an error; the message gives file, row, column, value and remedy.

    Example:
        >>> table = read_table("steps.csv")  # doctest: +SKIP
        >>> table.rounds, table.workers  # doctest: +SKIP
        (1091, 10)
    """
    file = Path(path)
    read = by_ending(file, READERS)
    source = source_of(file)
    try:
        return read(existing(file), source)
    except OSError as error:
        raise unreadable(source, error) from error
