"""Plain values of a file, checked against the types that a dataclass declares.

A field may be declared as a text, a whole number, a number, true or false, another dataclass, or a tuple, dictionary or
option of these. Whole numbers fit into 64 bits.
"""

from __future__ import annotations

import math
import reprlib
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin

T = TypeVar("T")

MAX_TEXT = 100_000
"""Longest text in a field, in characters."""
_INT64 = 1 << 63
_SAID = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def typed(kind: type[T], values: Any, finite: bool = True) -> T:
    """Return the dataclass whose fields have these values.

    Args:
        kind: a dataclass.
        values: a dictionary with a value for every field without a default, and for no other name; lists for tuples.
        finite: whether numbers must be finite.

    Raises:
        ValueError: a value is missing, unknown, or of another type than declared; the end of a sentence.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Point:
        ...     x: float
        ...     names: tuple[str, ...] = ()
        >>> typed(Point, {"x": 3, "names": ["a"]})
        Point(x=3.0, names=('a',))
        >>> typed(Point, {"x": "far"})
        Traceback (most recent call last):
        ValueError: x must be a number, but is 'far'
    """
    built: T = _record(kind, values, "it", finite)
    return built


def whole_numbers(name: str, values: Any) -> list[int]:
    """Return a list of whole numbers that fit into 64 bits.

    Raises:
        ValueError: the value is something else; the end of a sentence.
    """
    found: list[int] = _items(int, values, name, True)
    return found


def flags(name: str, values: Any) -> list[bool]:
    """Return a list of true and false.

    Raises:
        ValueError: the value is something else; the end of a sentence.
    """
    found: list[bool] = _items(bool, values, name, True)
    return found


def numbers(name: str, values: Any, unknown: float) -> list[float]:
    """Return a list of finite numbers, with `unknown` in the place of None.

    Raises:
        ValueError: the value is something else; the end of a sentence.
    """
    if not isinstance(values, list):
        raise _wrong(name, "a list", values)
    known = _items(float, [each for each in values if each is not None], name, True)
    rest = iter(known)
    return [unknown if each is None else next(rest) for each in values]


def _record(kind: Any, values: Any, name: str, finite: bool) -> Any:
    if not isinstance(values, dict):
        raise ValueError(f"{name} is no JSON object")
    hints, needed = _hints(kind)
    for key in values:
        if key not in hints:
            raise ValueError(f"{name} has an unknown field {reprlib.repr(key)}")
    for key in needed:
        if key not in values:
            raise ValueError(f"{name} has no {key}")
    return kind(**{key: _value(hints[key], value, key, finite) for key, value in values.items()})


@cache
def _hints(kind: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the type of each field, and the names of those without a default."""
    hints = typing.get_type_hints(kind)
    bare = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    return {f.name: hints[f.name] for f in fields(kind)}, bare


def _value(hint: Any, value: Any, name: str, finite: bool) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and types.NoneType in arguments:
            return None
        (hint,) = (each for each in arguments if each is not types.NoneType)
        return _value(hint, value, name, finite)
    if is_dataclass(hint):
        return _record(hint, value, name, finite)
    if origin is tuple:
        return tuple(_items(arguments[0], value, name, finite))
    if origin is dict:
        if not isinstance(value, dict):
            raise _wrong(name, "a JSON object", value)
        return {
            key: _value(arguments[1], each, f"{name}[{reprlib.repr(key)}]", finite)
            for key, each in value.items()
        }
    return _items(hint, [value], name, finite)[0]


def _items(hint: Any, values: Any, name: str, finite: bool) -> list[Any]:
    if not isinstance(values, list):
        raise _wrong(name, "a list", values)
    check = _SCALARS.get(hint)
    if check is None:
        return [_value(hint, each, f"{name}[{place}]", finite) for place, each in enumerate(values)]
    return check(values, name, finite)


def _texts(values: list[Any], name: str, finite: bool) -> list[str]:
    del finite
    _check_types(values, {str}, name, str)
    for each in values:
        if len(each) > MAX_TEXT:
            raise ValueError(f"{name} must have at most {MAX_TEXT:,} characters, but has {len(each):,}")
    return values


def _booleans(values: list[Any], name: str, finite: bool) -> list[bool]:
    del finite
    _check_types(values, {bool}, name, bool)
    return values


def _whole(values: list[Any], name: str, finite: bool) -> list[int]:
    del finite
    _check_types(values, {int}, name, int)
    # Lists have thousands of values: checking the smallest and the largest is enough.
    for extreme in (min(values, default=0), max(values, default=0)):
        if not -_INT64 <= extreme < _INT64:
            raise _wrong(name, "a whole number of at most 64 bits", extreme)
    return values


def _real(values: list[Any], name: str, finite: bool) -> list[float]:
    _check_types(values, {int, float}, name, float)
    try:
        found = list(map(float, values))
    except OverflowError:
        raise _wrong(name, "a number", max(values, key=abs)) from None
    if finite:
        for each in found:
            if not math.isfinite(each):
                raise _wrong(name, "a finite number", each)
    return found


def _check_types(values: Sequence[Any], allowed: set[type], name: str, kind: type) -> None:
    """Raise unless all values are exactly of these types: True is no number here."""
    if not set(map(type, values)) <= allowed:
        other = next(each for each in values if type(each) not in allowed)
        raise _wrong(name, _SAID[kind], other)


def _wrong(name: str, wanted: str, value: Any) -> ValueError:
    return ValueError(f"{name} must be {wanted}, but is {reprlib.repr(value)}")


_SCALARS: dict[Any, Callable[[list[Any], str, bool], list[Any]]] = {
    str: _texts,
    bool: _booleans,
    int: _whole,
    float: _real,
}
