"""CSV: comma-separated UTF-8 text with a header line; quotes, blank lines, spaces around cells may occur."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from tailcut.errors import TableError
from tailcut.table import Table
from tailcut.traces import columns
from tailcut.traces.names import Name, integer_or_text
from tailcut.traces.pivot import pivot
from tailcut.traces.place import COLUMNS, LINES, NODE, OBSERVED, ROUND, SECONDS, WORKER, Place, refuse_columns
from tailcut.traces.rows import Rows
from tailcut.traces.text_file import read_utf8
from tailcut.traces.unpivot import long_table, refuse_ambiguous
from tailcut.types import BoolArray

_FLAGS = {"true": 1, "1": 1, "false": 0, "0": 0}


def read_csv(path: Path, source: str) -> Table:
    """Read a table from comma-separated text."""
    data = read_utf8(path, source)
    header = _header(data, source)
    refuse_columns(header, source)
    place = Place(source, partial(_line_of, data, source), LINES)
    cells = _cells(data, header, source)
    nodes = columns.labels(cells[NODE]).map(_name) if NODE in cells else None
    rows = Rows(
        columns.whole_numbers(cells[ROUND], ROUND, place),
        columns.labels(cells[WORKER]).map(_name),
        columns.numbers(cells[SECONDS], SECONDS, place),
        _flags(cells[OBSERVED], place) if OBSERVED in cells else None,
        nodes,
    )
    return pivot(rows, place)


def write_csv(table: Table, file: IO[bytes], source: str) -> None:
    """Write `table` as comma-separated text; seconds are written so that they read back bit for bit."""
    refuse_ambiguous(table.names, source)
    _refuse_spaces(table.names, source)
    arrow_csv.write_csv(long_table(table, source), file)


def _refuse_spaces(names: Sequence[Name], source: str) -> None:
    texts = [str(name) for name in names]
    for text, trimmed in zip(texts, pc.utf8_trim_whitespace(pa.array(texts)).to_pylist(), strict=True):
        if text != trimmed:
            raise TableError(
                source,
                "CSV does not keep spaces round a name",
                remedy="rename the worker, or write .parquet, .jsonl or .npz",
                column=WORKER,
                value=text,
            )


def _name(label: Name | None) -> Name | None:
    return integer_or_text(label) if isinstance(label, str) and label else None


def _flags(column: Any, place: Place) -> BoolArray:
    """Return `(rows,)` flags from true, false, 1 and 0, in upper or lower case."""
    coded = columns.labels(pc.utf8_lower(column))
    index = coded.first(lambda label: label not in _FLAGS)
    if index is not None:
        value = column[index].as_py()
        if not value:
            raise place.missing(index, OBSERVED)
        remedy = "write true, or false where the run time is only known to exceed seconds"
        raise place.refusal(index, OBSERVED, "must be true, false, 1 or 0", remedy=remedy, value=value)
    meaning = np.array([_FLAGS[str(label)] for label in coded.labels], dtype=np.bool_)
    return meaning[coded.codes]


def _cells(data: bytes, header: Sequence[str], source: str) -> dict[str, Any]:
    """Return the cells of each known column by name, as text without surrounding spaces."""
    wanted = {header.index(name): name for name in COLUMNS if name in header}
    # Name Arrow's columns by position: a header may repeat a name that is ignored here.
    keys = [str(i) for i in range(len(header))]
    try:
        parsed = arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(column_names=keys),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(keys, pa.string()), include_columns=[str(i) for i in wanted]
            ),
        )
    except pa.ArrowInvalid as error:
        raise _ragged(data, len(header), source) from error
    # The header was parsed as a row too: Arrow would count blank lines if asked to skip it.
    return {name: pc.utf8_trim_whitespace(parsed.column(str(i)).slice(1)) for i, name in wanted.items()}


def _header(data: bytes, source: str) -> list[str]:
    for _, cells in _records(data, source):
        return [cell.strip() for cell in cells]
    raise TableError(
        source, "the file has no header line", remedy="begin it with a line such as round,worker,seconds"
    )


def _line_of(data: bytes, source: str, index: int) -> int:
    """Return the line on which data row `index` begins; blank lines and quoted line breaks shift it."""
    for i, (line, _) in enumerate(_records(data, source)):
        if i == index + 1:
            return line
    raise AssertionError(f"{source} has no data row {index}")


def _ragged(data: bytes, width: int, source: str) -> TableError:
    remedy = f"give every row as many cells as the header, and close every quote ({LINES})"
    for line, cells in _records(data, source):
        if len(cells) != width:
            problem = f"a row must have {width} cells like the header"
            return TableError(source, problem, remedy=remedy, row=line, value=len(cells))
    return TableError(source, "this is not comma-separated text", remedy=remedy)


def _records(data: bytes, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the cells of each row that is not blank; slow, for header and messages."""
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline=""))
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            remedy = f"shorten the cell, or close its quote ({LINES})"
            raise TableError(source, "a cell is too long to be read", remedy=remedy, row=line) from error
        if cells is None:
            return
        if cells:
            yield line, cells
