"""JSON lines: one object per line. Text stays text and integers stay integers; blank lines are skipped."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from tailcut.errors import TableError
from tailcut.table import Table
from tailcut.traces.columns import WHOLE, WHOLE_REMEDY
from tailcut.traces.names import INT64
from tailcut.traces.pivot import pivot
from tailcut.traces.place import COLUMNS, LINES, NODE, OBSERVED, ROUND, SECONDS, WORKER, Place, refuse_columns
from tailcut.traces.rows import Coded, Rows
from tailcut.traces.text_file import read_utf8
from tailcut.traces.unpivot import long_table
from tailcut.types import BoolArray, FloatArray, IntArray

_REMEDY = 'write one object such as {"round": 0, "worker": "a", "seconds": 0.25} per line'


class _Lines:
    """The columns of the objects read so far, and the line each object is on."""

    def __init__(self) -> None:
        self.numbers = array("q")
        self.keys: dict[str, None] = {}
        self.columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}

    def add(self, number: int, entry: dict[str, Any]) -> None:
        self.numbers.append(number)
        if not self.keys.keys() >= entry.keys():
            self.keys.update(dict.fromkeys(entry))
        for name, values in self.columns.items():
            values.append(entry.get(name))


def read_json_lines(path: Path, source: str) -> Table:
    """Read a table from JSON lines."""
    lines = _parse(read_utf8(path, source), source)
    if lines.numbers:
        refuse_columns(list(lines.keys), source)
    place = Place(source, lambda index: lines.numbers[index], LINES)
    cells = lines.columns
    rows = Rows(
        _integers(cells[ROUND], place),
        _names(cells[WORKER], WORKER, place),
        _floats(cells[SECONDS], place),
        _flags(cells[OBSERVED], place) if OBSERVED in lines.keys else None,
        _names(cells[NODE], NODE, place) if NODE in lines.keys else None,
    )
    return pivot(rows, place)


def write_json_lines(table: Table, file: IO[bytes], source: str) -> None:
    """Write `table` as JSON lines; seconds are written so that they read back bit for bit."""
    out = long_table(table, source)
    cells = {name: out.column(name).to_pylist() for name in out.column_names}
    # Arrow has one type per column; in JSON each name keeps its own type.
    workers = np.nonzero(~np.isnan(table.seconds))[1]
    cells[WORKER] = [table.names[worker] for worker in workers]
    encode = json.JSONEncoder(ensure_ascii=False).encode
    for row in zip(*cells.values(), strict=True):
        line = encode(dict(zip(cells, row, strict=True)))
        file.write(line.encode() + b"\n")


def _parse(data: bytes, source: str) -> _Lines:
    lines = _Lines()
    decoder = json.JSONDecoder(object_pairs_hook=_entry)
    for number, line in enumerate(data.split(b"\n"), start=1):
        text = line.decode().strip()
        if text:
            lines.add(number, _object(text, decoder, number, source))
    return lines


def _entry(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) != len(pairs):
        raise _RepeatedKeyError([key for key, _ in pairs])
    return entry


class _RepeatedKeyError(Exception):
    """An object gives a key twice; `json` would keep the last silently."""

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__(next(key for key in keys if keys.count(key) > 1))


def _object(text: str, decoder: json.JSONDecoder, number: int, source: str) -> dict[str, Any]:
    """The object on one line, or a `TableError`."""
    remedy = f"{_REMEDY} ({LINES})"
    try:
        entry = decoder.decode(text)
    except _RepeatedKeyError as error:
        problem, key = "an object must give each key once", str(error)
        raise TableError(source, problem, remedy=remedy, row=number, column=key) from error
    except (ValueError, RecursionError) as error:
        problem = "a line must be valid JSON"
        raise TableError(source, problem, remedy=remedy, row=number, value=text) from error
    if not isinstance(entry, dict):
        problem = "a line must be a JSON object"
        raise TableError(source, problem, remedy=remedy, row=number, value=text)
    return entry


def _refuse_types(
    values: Sequence[Any], allowed: set[type], name: str, problem: str, remedy: str, place: Place
) -> set[type]:
    """Return the types of `values`, all of which must be exactly in `allowed`: True is not a number here."""
    types = set(map(type, values))
    if types <= allowed:
        return types
    index = next(i for i, value in enumerate(values) if type(value) not in allowed)
    if values[index] is None:
        raise place.missing(index, name)
    raise place.refusal(index, name, problem, remedy=remedy, value=values[index])


def _whole(values: Sequence[Any]) -> list[Any]:
    """Return `values` with floats such as 3.0 as integers, because JSON does not distinguish them."""
    return [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]


def _integers(values: Sequence[Any], place: Place) -> IntArray:
    types = _refuse_types(values, {int, float}, ROUND, WHOLE, WHOLE_REMEDY, place)
    whole = _whole(values) if float in types else values
    try:
        _refuse_types(whole, {int}, ROUND, WHOLE, WHOLE_REMEDY, place)
        return np.array(whole, dtype=np.int64)
    except OverflowError as error:
        index = next(i for i, value in enumerate(whole) if value not in INT64)
        raise place.refusal(index, ROUND, WHOLE, remedy=WHOLE_REMEDY, value=whole[index]) from error


def _floats(values: Sequence[Any], place: Place) -> FloatArray:
    remedy = "write plain seconds such as 0.25, without quotes"
    _refuse_types(values, {int, float}, SECONDS, "must be a number", remedy, place)
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        return np.array([_float(value) for value in values])


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")  # An integer beyond the largest float, to be refused as not finite.


def _flags(values: Sequence[Any], place: Place) -> BoolArray:
    remedy = "write true, or false where the run time is only known to exceed seconds"
    _refuse_types(values, {bool}, OBSERVED, "must be true or false", remedy, place)
    return np.array(values, dtype=np.bool_)


def _names(values: Sequence[Any], name: str, place: Place) -> Coded:
    """Return names, which are text or whole numbers; null passes here, and `pivot` refuses it for workers."""
    allowed, problem = {str, int, float, type(None)}, "a name must be text or a whole number"
    remedy = "name it by text or a whole number"
    types = _refuse_types(values, allowed, name, problem, remedy, place)
    if float in types:
        values = _whole(values)
        _refuse_types(values, allowed - {float}, name, problem, remedy, place)
    return Coded.of(values).map(lambda label: None if label == "" else label)
