"""Arrow columns to NumPy: casts that name the first row they fail on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailcut.traces.place import Place
from tailcut.traces.rows import Coded
from tailcut.types import FloatArray, IntArray

WHOLE = "must be a whole number that fits 64 bits"
WHOLE_REMEDY = "number the rounds 0, 1, 2, …"


def whole_numbers(column: Any, name: str, place: Place) -> IntArray:
    """`(rows,)` integers from a column of integers, whole floats, or text that spells integers."""
    refuse_missing(column, name, place)
    numbers: IntArray = _cast(column, pa.int64(), name, WHOLE, WHOLE_REMEDY, place).to_numpy()
    return numbers


def numbers(column: Any, name: str, place: Place) -> FloatArray:
    """`(rows,)` floats from a column of numbers, or of text that spells numbers."""
    refuse_missing(column, name, place)
    remedy = "write plain seconds such as 0.25, with a decimal point and no unit"
    floats: FloatArray = _cast(column, pa.float64(), name, "must be a number", remedy, place).to_numpy()
    return floats


def whole_labels(column: Any, name: str, place: Place) -> Any:
    """A column of numbers as 64-bit integers, nulls kept: names that some writers turn into floats."""
    remedy = "name it by text or a whole number"
    return _cast(column, pa.int64(), name, "a name must be text or a whole number", remedy, place)


def labels(column: Any) -> Coded:
    """Return distinct labels of a column of text or 64-bit integers, and each row's label; null is None."""
    coded = pc.dictionary_encode(column, null_encoding="encode").unify_dictionaries()
    if not coded.num_chunks:
        return Coded(np.empty(0, dtype=np.int64), ())
    codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in coded.chunks])
    return Coded(codes.astype(np.int64), tuple(coded.chunk(0).dictionary.to_pylist()))


def refuse_missing(column: Any, name: str, place: Place) -> None:
    """Raise if a cell is null or empty text."""
    index = pc.index(pc.is_null(column), True).as_py() if column.null_count else -1
    if index < 0 and pa.types.is_string(column.type):
        index = pc.index(column, "").as_py()
    if index >= 0:
        raise place.missing(index, name)


def _cast(column: Any, target: Any, name: str, problem: str, remedy: str, place: Place) -> Any:
    try:
        return _converted(column, target)
    except pa.ArrowInvalid as error:
        index = _first_failing(column, target)
        value = column[index].as_py()
        raise place.refusal(index, name, problem, remedy=remedy, value=value) from error


def _converted(column: Any, target: Any) -> Any:
    # A large integer may be rounded to the nearest float; a float with a fraction must not become an integer.
    return pc.cast(column, target, safe=not pa.types.is_floating(target))


def _first_failing(column: Any, target: Any) -> int:
    """Find the first failing row by bisection: rows before `low` convert, one from `low` to `high` fails."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _converted(column.slice(low, middle - low), target)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low
