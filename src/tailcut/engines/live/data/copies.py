"""A worker's whole state as frames, for one that joins: tensors as raw bytes, the rest as msgpack. Never pickle.

The first frame is a checksum over everything and then the tree: lists, tuples, dictionaries and plain values, with a
number in the place of each tensor; the other frames are the tensors.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor

from tailcut.errors import TailcutError

_CHECKSUM = struct.Struct(">I")
_PLAIN = (type(None), bool, int, float, str, bytes)
_TYPES = {
    str(kind).removeprefix("torch."): kind for kind in vars(torch).values() if isinstance(kind, torch.dtype)
}


class CopyError(TailcutError):
    """A state that cannot be put into frames, or frames that are no state."""


def frames_of(state: Any) -> list[bytes | memoryview]:
    """Return the frames of a state, as it is now.

    Raises:
        CopyError: it holds something else than tensors, plain values, and lists, tuples and dictionaries of them.

    Example:
        >>> state_of(frames_of({"lr": 0.5, 3: [torch.ones(2), None]}))
        {'lr': 0.5, 3: [tensor([1., 1.]), None]}
    """
    raw: list[memoryview] = []
    packed = msgspec.msgpack.encode(_plain(state, raw))
    check = zlib.crc32(packed)
    for each in raw:
        check = zlib.crc32(each, check)
    return [_CHECKSUM.pack(check) + packed, *raw]


def state_of(frames: Sequence[bytes | memoryview]) -> Any:
    """Return the state in some frames.

    Raises:
        CopyError: they are damaged, or no state.
    """
    head, raw = memoryview(frames[0]), [memoryview(each).cast("B") for each in frames[1:]]
    if len(head) <= _CHECKSUM.size:
        raise CopyError(f"The head of a state has {len(head)} bytes, which is too short.")
    packed = head[_CHECKSUM.size :]
    check = zlib.crc32(packed)
    for each in raw:
        check = zlib.crc32(each, check)
    if _CHECKSUM.unpack_from(head)[0] != check:
        raise CopyError("The checksum of a state is wrong: it was damaged on its way.")
    try:
        return _state(msgspec.msgpack.decode(packed), raw)
    except (msgspec.MsgspecError, KeyError, ValueError, TypeError, IndexError, RuntimeError) as problem:
        raise CopyError(f"Bytes came that are no state: {problem}.") from problem


def _plain(value: Any, raw: list[memoryview]) -> Any:
    """Return the value as msgpack can hold it, and append its tensors to `raw`."""
    if isinstance(value, Tensor):
        # A copy: training goes on while the frames are sent.
        numbers = value.detach().to("cpu", copy=True).contiguous()
        raw.append(
            numbers.reshape(-1).view(torch.uint8).numpy().data.cast("B")
            if numbers.numel()
            else memoryview(b"")
        )
        return ["tensor", str(numbers.dtype).removeprefix("torch."), list(numbers.shape), len(raw) - 1]
    if isinstance(value, dict):
        return ["dict", [[_plain(key, raw), _plain(each, raw)] for key, each in value.items()]]
    if isinstance(value, list | tuple):
        return ["list" if isinstance(value, list) else "tuple", [_plain(each, raw) for each in value]]
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in _PLAIN:
        return value
    raise CopyError(
        f"A state with a {type(value).__name__} in it cannot be copied to a worker that joins: only tensors, numbers, "
        "words, and lists, tuples and dictionaries of them can."
    )


def _state(plain: Any, raw: Sequence[memoryview]) -> Any:
    if not isinstance(plain, list):
        return plain
    kind, *more = plain
    match kind, more:
        case "tensor", [str(dtype), list(shape), int(place)]:
            numbers = (
                torch.frombuffer(bytearray(raw[place]), dtype=_TYPES[dtype])
                if len(raw[place])
                else torch.empty(0)
            )
            return numbers.to(_TYPES[dtype]).reshape(shape)
        case "dict", [list(pairs)]:
            return {_state(key, raw): _state(each, raw) for key, each in pairs}
        case "list", [list(values)]:
            return [_state(each, raw) for each in values]
        case "tuple", [list(values)]:
            return tuple(_state(each, raw) for each in values)
    raise ValueError(f"nothing is called {kind!r}")
