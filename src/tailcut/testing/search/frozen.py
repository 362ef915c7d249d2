"""Turns the state of an object into a value: two controllers with equal values behave the same from there on.

Everything that can be reached from the object counts, also fields added to it later, except the fields named
here. All finite floats count as equal: the search must not depend on times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from typing import Any, TypeAlias

import msgspec
import numpy as np

from tailcut.engines.live.messages import Applied

MATTERS_NOT: Mapping[str, frozenset[str]] = {
    # Fields that are counted, reported or learnt, and never used for a decision.
    "Hub": frozenset({"ignored", "_records", "_settled", "_began"}),
    # All workers of the search use the same options, which agree whatever is remembered of them.
    "Orders": frozenset({"scale", "agreement", "_untold", "_making", "_began"}),
    "Place": frozenset({"heard", "cut", "late", "arrivals"}),
    "Thinker": frozenset({"_lesson", "_state", "policy"}),
    "Rounds": frozenset({"policy", "acceptance", "now", "overhead"}),
    "Members": frozenset({"_reports"}),
    "Member": frozenset({"since"}),
    "OpenLedger": frozenset({"opened", "roster", "_seconds", "_observed", "_started", "_covered", "_fates"}),
    "Epochs": frozenset({"new"}),
    "Change": frozenset({"is_broken"}),
    "Suspicion": frozenset({"_doublings", "_since", "_expelled"}),
}
IN_ANY_ORDER = frozenset({"accepted", "_staleness"})
"""Fields whose order has no meaning: it is only the order of arrival."""

_PLAIN_TYPES = frozenset({type(None), bool, int, str, bytes})
Seen: TypeAlias = dict[int, int]
"""Numbers of the objects met so far, by their ids, in the order in which they were met."""
Way: TypeAlias = Callable[[Any, Seen], Hashable]
_WAYS: dict[type, Way] = {}
"""Functions that make values hashable, by exact type."""
_UNSET = object()
"""Marker for a slot without a value."""


def frozen(value: Any) -> Hashable:
    """Return the state of an object as a hashable value.

    Example:
        >>> frozen({"b": [1, 2.5], "a": {3, 2}}) == frozen({"a": {2, 3}, "b": [1, 7.25]})
        True
    """
    return _frozen(value, {})


def _frozen(value: Any, seen: Seen) -> Hashable:
    kind = type(value)
    if kind in _PLAIN_TYPES:
        plain: Hashable = value
        return plain
    way = _WAYS.get(kind)
    if way is None:
        way = _WAYS[kind] = _way(kind)
    return way(value, seen)


def _way(kind: type) -> Way:
    """Return the function that makes values of a type hashable; looked up once per type."""
    for kinds, way in _WAYS_OF:
        if issubclass(kind, kinds):
            return way
    if any("__call__" in vars(base) for base in kind.__mro__):
        return _nothing
    return _object_way(kind)


def _itself(value: Any, seen: Seen) -> Hashable:
    del seen
    itself: Hashable = value
    return itself


def _nothing(value: Any, seen: Seen) -> None:
    del value, seen


def _number(value: float, seen: Seen) -> str:
    del seen
    return "number" if math.isfinite(value) else repr(value)


def _array(value: Any, seen: Seen) -> Hashable:
    return tuple([_frozen(each, seen) for each in value.tolist()])


def _sequence(value: Any, seen: Seen) -> Hashable:
    return tuple([_frozen(each, seen) for each in value])


def _set(value: Any, seen: Seen) -> Hashable:
    del seen
    return tuple(sorted(value))


def _mapping(value: Any, seen: Seen) -> Hashable:
    return tuple(sorted([(key, _frozen(each, seen)) for key, each in value.items()]))


def _applied(value: Applied, seen: Seen) -> Hashable:
    del seen
    return value.version, value.chain


def _object_way(kind: type) -> Way:
    """Return the function that makes objects of a class hashable, by the fields that count."""
    slots, passed_over = _slots(kind)
    has_more = bool(kind.__dictoffset__)

    def way(value: Any, seen: Seen) -> Hashable:
        if id(value) in seen:
            return "seen", seen[id(value)]
        seen[id(value)] = len(seen)
        found: list[Hashable] = [kind.__name__]
        for name in slots:
            each = getattr(value, name, _UNSET)
            if each is not _UNSET:
                found.append(each if type(each) in _PLAIN_TYPES else _field(name, each, seen))
        if has_more:
            for name, each in value.__dict__.items():
                if name not in passed_over:
                    found.append(each if type(each) in _PLAIN_TYPES else _field(name, each, seen))
        return tuple(found)

    return way


def _field(name: str, value: Any, seen: Seen) -> Hashable:
    found = _frozen(value, seen)
    if name in IN_ANY_ORDER and isinstance(found, tuple):
        return tuple(sorted(found, key=repr))
    return found


def _slots(kind: type) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the slots of a type that count, and the fields that do not."""
    passed_over = MATTERS_NOT.get(kind.__name__, frozenset())
    if issubclass(kind, msgspec.Struct):
        slots = list(kind.__struct_fields__)
    else:
        slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
    return tuple(name for name in slots if name not in passed_over), passed_over


_WAYS_OF: tuple[tuple[type | tuple[type, ...], Way], ...] = (
    (Enum, _itself),
    (float, _number),
    (np.ndarray, _array),
    ((tuple, list), _sequence),
    ((set, frozenset), _set),
    (dict, _mapping),
    (Applied, _applied),
)
"""Functions that make values of some types and their subclasses hashable; the first match is used."""
