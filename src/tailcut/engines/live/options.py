"""Options of an optimizer's parameter groups as bytes: learning rates, momentum and all else but the parameters.

An option has one value for each group. Groups often share it, so it is packed as runs of equal values: of a thousand
groups that differ in the learning rate alone, every other option is one run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import groupby
from typing import Any, TypeAlias, final

import msgspec
from msgspec.msgpack import Ext

from tailcut.errors import TailcutError

MAX_PACKED_BYTES = 1 << 19
"""Longest packed options, in bytes. They travel in the head of an update."""
MAX_SUMMARY_BYTES = 1 << 12
"""Longest summary of packed options, in bytes. It travels with every arrival."""
MAX_COLUMN_BYTES = 1 << 8
"""Longest option that a summary holds in full, in bytes; of a longer one it holds a digest."""
MAX_GROUPS = 1 << 20
"""Most parameter groups of an optimizer."""
_OPAQUE, _ABSENT, _DIGEST = 1, 2, 3
ABSENT = Ext(_ABSENT, b"")
"""Stands for the value of an option that a group does not have."""
Runs: TypeAlias = list[tuple[int, Any]]
"""Values of one option: numbers of consecutive groups, and the value that they share."""


class OptionsError(TailcutError):
    """Bytes that are no options, or options that are too large."""


@final
class _Packed(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The options of all groups, by name."""

    groups: int
    columns: list[tuple[str, Runs]]


@final
class Summary(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The options of all groups, with a digest in the place of long runs.

    Attributes:
        groups: how many there are.
        columns: the options, by name.
    """

    groups: int
    columns: list[tuple[str, Runs | Ext]]


_encoder = msgspec.msgpack.Encoder()
_packed, _summaries = msgspec.msgpack.Decoder(_Packed), msgspec.msgpack.Decoder(Summary)


def opaque(value: object) -> Ext:
    """Return a placeholder for a value that cannot be packed, such as a function; only its type counts."""
    kind = type(value)
    return Ext(_OPAQUE, f"{kind.__module__}.{kind.__qualname__}"[:200].encode())


def is_packed(value: object) -> bool:
    """Return whether this is a value itself, and not a placeholder for one."""
    return not isinstance(value, Ext)


def pack(groups: Sequence[Mapping[str, Any]]) -> bytes:
    """Pack the options of all groups. Values are plain: None, numbers, words, and lists and dictionaries of them.

    Raises:
        OptionsError: they are too large.

    Example:
        >>> unpack(pack([{"lr": 0.1, "betas": (0.9, 0.99)}, {"lr": 0.1}]))
        [{'betas': [0.9, 0.99], 'lr': 0.1}, {'lr': 0.1}]
    """
    names = sorted({name for group in groups for name in group})
    columns = [(name, _runs([group.get(name, ABSENT) for group in groups])) for name in names]
    packed = _encoder.encode(_Packed(len(groups), columns))
    if len(packed) > MAX_PACKED_BYTES or len(groups) > MAX_GROUPS:
        raise OptionsError(
            f"The options of {len(groups)} parameter groups have {len(packed)} bytes, but every update carries them, "
            f"so at most {MAX_PACKED_BYTES} bytes and {MAX_GROUPS} groups are possible. Use fewer groups."
        )
    return packed


def unpack(packed: bytes) -> list[dict[str, Any]]:
    """Return the options of each group.

    Raises:
        OptionsError: the bytes are no options.
    """
    try:
        found = _packed.decode(packed)
    except (ValueError, RecursionError) as problem:
        raise OptionsError(f"Options of parameter groups could not be read: {problem}.") from problem
    columns = [(name, values(runs, found.groups)) for name, runs in found.columns]
    return [{name: column[n] for name, column in columns if column[n] != ABSENT} for n in range(found.groups)]


def summary(packed: bytes, more: Mapping[str, Sequence[Any]] | None = None) -> bytes:
    """Return the summary of a worker's options that it sends as it arrives; equal options have equal ones.

    Args:
        packed: the options.
        more: further values that are compared: one for each group, by name.
    """
    found = _packed.decode(packed)
    columns: list[tuple[str, Runs | Ext]] = []
    others = [(name, _runs(column)) for name, column in (more or {}).items()]
    for name, runs in [*found.columns, *others]:
        column = _encoder.encode(runs)
        columns.append((name, runs if len(column) <= MAX_COLUMN_BYTES else _digest(column)))
    told = _encoder.encode(Summary(found.groups, columns))
    if len(told) > MAX_SUMMARY_BYTES:
        told = _encoder.encode(Summary(found.groups, [("options", _digest(told))]))
    return told


def read_summary(told: bytes) -> Summary:
    """Return the summary in these bytes.

    Raises:
        OptionsError: the bytes are no summary.
    """
    try:
        found = _summaries.decode(told)
    except (ValueError, RecursionError) as problem:
        raise OptionsError(f"A summary of options could not be read: {problem}.") from problem
    if not 0 <= found.groups <= MAX_GROUPS:
        raise OptionsError(
            f"A summary of the options of {found.groups} parameter groups came, which cannot be."
        )
    return found


def values(runs: Runs, groups: int) -> list[Any]:
    """Return the value of each group.

    Raises:
        OptionsError: there are not as many values as groups.
    """
    if not 0 <= groups <= MAX_GROUPS or any(count < 1 for count, _ in runs):
        raise OptionsError(f"Options of {groups} parameter groups came, which cannot be.")
    if sum(count for count, _ in runs) != groups:
        raise OptionsError(f"Options came whose values are not those of {groups} parameter groups.")
    return [value for count, value in runs for _ in range(count)]


def _runs(column: Sequence[Any]) -> Runs:
    """Return the runs of equal values. Equal numbers of different types are other bytes, so another run."""
    by_value = groupby((type(value), value) for value in column)
    return [(sum(1 for _ in same), value) for (_, value), same in by_value]


def _digest(column: bytes) -> Ext:
    return Ext(_DIGEST, blake2b(column, digest_size=8).digest())
