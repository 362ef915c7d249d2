"""Files of JSON lines written during a run; they may hold infinities and NaN, and end in half a line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tailcut.bounded_files import parse_json
from tailcut.errors import InputError, one_line

Take = Callable[[int, dict[str, Any]], None]
"""Function of a line number, from 1, and the line's values; it raises `ValueError` or alike for bad ones."""


def line_of(values: Mapping[str, Any]) -> str:
    """Return one line of JSON with its line break."""
    return json.dumps({key: told(value) for key, value in values.items()}) + "\n"


def take_lines(lines: Iterable[str], take: Take, file: Path, remedy: str, needed: int = 0) -> None:
    """Pass every line to `take`. A damaged last line, as of an interrupted run, is left out.

    Args:
        lines: the lines of the file, in order.
        take: called with the number and the values of each line.
        file: path of the file, for messages.
        remedy: sentence on what to do about a damaged line.
        needed: number of first lines that must be whole, even the last one.

    Raises:
        InputError: a line is damaged; the message names it.
    """
    rest = iter(lines)
    for number, line in enumerate(rest, 1):
        try:
            take(number, _values(parse_json(line)))
        except (
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ) as problem:
            if number > needed and next(rest, None) is None:
                return
            raise InputError(
                f"Line {number} of {file} is damaged ({one_line(problem)}). {remedy}"
            ) from problem


def told(value: Any) -> Any:
    """Return a value that JSON can hold: arrays as lists, infinite numbers and NaN as words."""
    match value:
        case float() if not math.isfinite(value):
            return repr(value)
        case np.ndarray():
            return value.tolist()
        case dict():
            return {key: told(each) for key, each in value.items()}
    return value


def back(value: Any) -> Any:
    """Return the value that `told` has turned into JSON; arrays stay lists."""
    match value:
        case "inf" | "-inf" | "nan":
            return float(value)
        case dict():
            return {key: back(each) for key, each in value.items()}
    return value


def _values(line: Any) -> dict[str, Any]:
    if not isinstance(line, dict):
        raise TypeError("not an object")
    return {key: back(value) for key, value in line.items()}
