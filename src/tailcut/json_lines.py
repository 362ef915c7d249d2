"""Files of JSON lines that are written while something runs: numbers that are not finite, lines that were cut off."""

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
"""Takes the number of a line, from 1, and its values; answers what cannot be with a `ValueError` or its like."""


def line_of(values: Mapping[str, Any]) -> str:
    """One line, its end included."""
    return json.dumps({key: told(value) for key, value in values.items()}) + "\n"


def take_lines(lines: Iterable[str], take: Take, file: Path, remedy: str, needed: int = 0) -> None:
    """Hand every line on. The last one of something that was broken off may be half a line, and is then left out.

    Args:
        lines: in order.
        take: is given each of them.
        file: that they are of, for messages.
        remedy: a sentence on what to do about a damaged one.
        needed: first lines without which nothing can be told: they must be whole.

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
    """What JSON can hold: numbers that are not finite as words."""
    match value:
        case float() if not math.isfinite(value):
            return repr(value)
        case np.ndarray():
            return value.tolist()
        case dict():
            return {key: told(each) for key, each in value.items()}
    return value


def back(value: Any) -> Any:
    """What was told."""
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
