"""The state of an object as a value: two controllers with equal values do the same from there on.

Everything that can be reached from the object counts, fields that are added to it later too, except what is named here.
Moments and durations count only as being there or not: what is explored must not go by the clock.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any

import msgspec
import numpy as np

from tailcut.engines.live.messages import Applied

MATTERS_NOT: Mapping[str, frozenset[str]] = {
    # Counted, told or learnt, and never looked at to decide something.
    "Hub": frozenset({"ignored", "_records", "_settled", "_began"}),
    # All workers of the search use the same options, which agree whatever was remembered of them.
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
"""Lists whose order is only the one in which things came."""

_PLAIN_TYPES = frozenset({type(None), bool, int, str, bytes})
_FIELDS: dict[type, tuple[tuple[str, ...], frozenset[str]]] = {}
"""The slots that count and the fields that do not, by class."""
_UNSET = object()
"""The value of a slot that has none."""


def frozen(value: Any) -> Hashable:
    """The state of an object, hashable.

    Example:
        >>> frozen({"b": [1, 2.5], "a": {3, 2}}) == frozen({"a": {2, 3}, "b": [1, 7.25]})
        True
    """
    return _frozen(value, {})


def _frozen(value: Any, seen: dict[int, int]) -> Hashable:
    kind = type(value)
    if kind in _PLAIN_TYPES or isinstance(value, Enum):
        plain: Hashable = value
        return plain
    if isinstance(value, float):
        return "number" if math.isfinite(value) else repr(value)
    if isinstance(value, np.ndarray):
        return tuple([_frozen(each, seen) for each in value.tolist()])
    if isinstance(value, tuple | list):
        return tuple([_frozen(each, seen) for each in value])
    if isinstance(value, set | frozenset):
        return tuple(sorted(value))
    if isinstance(value, dict):
        return tuple(sorted([(key, _frozen(each, seen)) for key, each in value.items()]))
    if isinstance(value, Applied):
        return value.version, value.chain
    if callable(value):
        return None
    if id(value) in seen:
        return "seen", seen[id(value)]
    seen[id(value)] = len(seen)
    if kind not in _FIELDS:
        _FIELDS[kind] = _slots(kind)
    slots, passed_over = _FIELDS[kind]
    found: list[Hashable] = [kind.__name__]
    for name in slots:
        each = getattr(value, name, _UNSET)
        if each is not _UNSET:
            found.append(each if type(each) in _PLAIN_TYPES else _field(name, each, seen))
    for name, each in getattr(value, "__dict__", {}).items():
        if name not in passed_over:
            found.append(each if type(each) in _PLAIN_TYPES else _field(name, each, seen))
    return tuple(found)


def _field(name: str, value: Any, seen: dict[int, int]) -> Hashable:
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
