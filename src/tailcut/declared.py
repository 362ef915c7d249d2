"""The declared state of a policy: the types of its belief and memory, as its classes are annotated."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin

import numpy as np

from tailcut.forecast.base import Forecaster
from tailcut.rules.base import Rule


@dataclass(frozen=True, slots=True)
class Record:
    """A frozen dataclass that may be built, and the declaration of each of its fields."""

    make: Callable[..., Any]
    fields: Mapping[str, Declared]


@dataclass(frozen=True, slots=True)
class Declared:
    """The declaration of one value: an annotation with its type variables filled in.

    Attributes:
        options: the members of a union, or the one annotation there is.
        known: the type that each type variable stands for.
    """

    options: tuple[Any, ...]
    known: Mapping[Any, Any]

    @staticmethod
    def of(hint: Any, known: Mapping[Any, Any]) -> Declared:
        """Return the declaration that an annotation makes."""
        alias = get_origin(hint)
        if hasattr(alias, "__value__"):
            # A `type` statement with its parameters given, as NDArray is in newer versions of numpy.
            return Declared.of(alias.__value__[get_args(hint)], known)
        if isinstance(hint, TypeVar):
            filled = known.get(hint, Any)
            return filled if isinstance(filled, Declared) else Declared.of(filled, {})
        if get_origin(hint) in (Union, types.UnionType):
            parts = [Declared.of(option, known) for option in get_args(hint)]
            return Declared(tuple(option for part in parts for option in part.options), known)
        return Declared((hint,), known)

    def __str__(self) -> str:
        return " or ".join(getattr(get_origin(o) or o, "__name__", str(o)) for o in self.options)

    def holds(self, value: Any) -> bool:
        """Return whether a plain value (array, number, text, None) is of one of the options."""
        return any(_is(value, option) for option in self.options)

    def items(self, count: int) -> list[Declared] | None:
        """Return the declarations of a tuple's `count` items; None if no such tuple is declared."""
        for option in self.options:
            if get_origin(option) is not tuple:
                continue
            args = get_args(option)
            if len(args) == 2 and args[1] is Ellipsis:
                return [Declared.of(args[0], self.known)] * count
            if len(args) == count:
                return [Declared.of(arg, self.known) for arg in args]
        return None

    def record(self, name: str) -> Record | None:
        """Return the dataclass of that name among the options; None if none is declared."""
        for option in self.options:
            origin = get_origin(option) or option
            if isinstance(origin, type) and is_dataclass(origin) and origin.__name__ == name:
                given = [Declared.of(arg, self.known) for arg in get_args(option)]
                own = dict(zip(getattr(origin, "__parameters__", ()), given, strict=False))
                hints = typing.get_type_hints(origin)
                return Record(origin, {f.name: Declared.of(hints[f.name], own) for f in fields(origin)})
        return None


def belief_of(forecaster: Forecaster[Any]) -> Declared:
    """Return the declared type of a forecaster's belief: the parameter of its base class.

    Example:
        >>> from tailcut.forecast import NoForecast
        >>> belief_of(NoForecast()).holds(None)
        True
    """
    return Declared.of(_parameter(type(forecaster), Forecaster), {})


def memory_of(rule: Rule[Any, Any]) -> Declared:
    """Return the declared type of a rule's memory, with the memory of the rules it wraps filled in."""
    parameter = _parameter(type(rule), Rule)
    inner = [memory_of(value) for value in _values(rule) if isinstance(value, Rule)]
    variables = [parameter] if isinstance(parameter, TypeVar) else getattr(parameter, "__parameters__", ())
    return Declared.of(parameter, dict(zip(variables, inner, strict=False)))


def _values(record: Any) -> list[Any]:
    return [getattr(record, f.name) for f in fields(record)] if is_dataclass(record) else []


def _parameter(cls: type, base: type) -> Any:
    """The first type that a class gives to its generic base."""
    for each in cls.__mro__:
        for parent in getattr(each, "__orig_bases__", ()):
            if get_origin(parent) is base:
                return get_args(parent)[0]
    raise TypeError(
        f"{cls.__name__} does not say what it remembers; derive it from {base.__name__}[...] with types."
    )


def _is(value: Any, option: Any) -> bool:
    if option in (None, type(None)):
        return value is None
    if get_origin(option) is np.ndarray:
        wanted = get_args(get_args(option)[1])[0]
        return (
            isinstance(value, np.ndarray)
            and isinstance(wanted, type)
            and issubclass(value.dtype.type, wanted)
        )
    if option is float:
        return isinstance(value, float | int | np.floating) and not isinstance(value, bool)
    if option is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if option is bool:
        return isinstance(value, bool | np.bool_)
    return option is str and isinstance(value, str)
