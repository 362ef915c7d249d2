"""Parquet: typed columns. Text stays text and integers stay integers."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailcut.bounded_files import open_file
from tailcut.errors import TableError, one_line
from tailcut.table import Table
from tailcut.traces import columns
from tailcut.traces.limits import refuse_too_many
from tailcut.traces.names import Name, integer_or_text
from tailcut.traces.pivot import pivot
from tailcut.traces.place import (
    COLUMNS,
    NODE,
    OBSERVED,
    ROUND,
    SECONDS,
    WORKER,
    Place,
    refuse_columns,
)
from tailcut.traces.rows import Coded, Rows
from tailcut.traces.unpivot import is_mixed, long_table, refuse_ambiguous
from tailcut.types import BoolArray

_MIXED = {b"tailcut.names": b"mixed"}
"""Metadata of a worker column with integers and text: a name that reads as an integer is an integer."""

_BROKEN = (pa.ArrowException, OSError, ValueError, KeyError, IndexError, NotImplementedError, MemoryError)


def read_parquet(path: Path, source: str) -> Table:
    """Read a table from a Parquet file."""
    cells = _load(path, source)
    place = Place(source, lambda index: index + 1, "row 1 is the first row of data")
    rows = Rows(
        columns.whole_numbers(_typed(cells, ROUND, source), ROUND, place),
        _labels(cells, WORKER, place),
        columns.numbers(_typed(cells, SECONDS, source), SECONDS, place),
        _flags(cells, place) if OBSERVED in cells.column_names else None,
        _labels(cells, NODE, place) if NODE in cells.column_names else None,
    )
    return pivot(rows, place)


def write_parquet(table: Table, file: IO[bytes], source: str) -> None:
    """Write `table` as a Parquet file."""
    out = long_table(table, source)
    if is_mixed(table.names):
        refuse_ambiguous(table.names, source)
        at = out.schema.get_field_index(WORKER)
        out = out.cast(out.schema.set(at, out.schema.field(at).with_metadata(_MIXED)))
    pq.write_table(out, file)


def _load(path: Path, source: str) -> Any:
    """Read the columns of a long file."""
    with open_file(path) as file:
        try:
            return _parse(file, source)
        except TableError:
            raise
        except _BROKEN as error:
            raise TableError(
                source,
                "this is not a complete Parquet file",
                remedy="write or copy it again, or give it the ending of its real format",
            ) from error


def _parse(file: IO[bytes], source: str) -> Any:
    # `pq.read_table` would read parts of the folder's name as columns.
    with pq.ParquetFile(file) as parquet:
        found = parquet.schema_arrow.names
        refuse_columns(found, source)
        refuse_too_many(parquet.metadata.num_rows, "the file's rows", source)
        cells = parquet.read(columns=[name for name in COLUMNS if name in found])
        cells.validate(full=True)
        return cells


_TYPES = {
    ROUND: ("integers", lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind)),
    SECONDS: (
        "numbers",
        lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind),
    ),
    OBSERVED: ("true and false", pa.types.is_boolean),
}


def _typed(cells: Any, name: str, source: str) -> Any:
    """Return a column after checking its type; all-null columns pass here, since their cells are missing."""
    what, fits = _TYPES[name]
    column = _decoded(cells.column(name))
    if not fits(column.type) and not pa.types.is_null(column.type):
        raise _wrong_type(column.type, name, what, source)
    return column


def _wrong_type(kind: Any, name: str, what: str, source: str) -> TableError:
    problem = f"the column must hold {what}, but its type is {one_line(kind, 60)}"
    return TableError(source, problem, remedy=f"convert the column to {what}", column=name)


def _labels(cells: Any, name: str, place: Place) -> Coded:
    """Return the labels of a column of text, of integers, or of floats that are whole numbers."""
    column = _decoded(cells.column(name))
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        column = columns.whole_labels(column, name, place)
    elif _is_text(kind) or pa.types.is_null(kind):
        column = column.cast(pa.string())
    else:
        raise _wrong_type(kind, name, "text or integers", place.source)
    field = cells.schema.field(name)
    mixed = (field.metadata or {}).items() >= _MIXED.items()
    return columns.labels(column).map(_integer_or_text if mixed else _blank_is_none)


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _integer_or_text(label: Name | None) -> Name | None:
    return integer_or_text(label) if isinstance(label, str) and label else None


def _blank_is_none(label: Name | None) -> Name | None:
    return None if label == "" else label


def _flags(cells: Any, place: Place) -> BoolArray:
    column = _typed(cells, OBSERVED, place.source)
    columns.refuse_missing(column, OBSERVED, place)
    flags: BoolArray = column.to_numpy()
    return flags


def _decoded(column: Any) -> Any:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
