"""A nested state as named tensors and a text in JSON, to the bit: what the file of a checkpoint holds.

The text is a tree of lists: `["dict", [[key, value], …]]`, and the same for a `counter`; `["list", […]]`;
`["tuple", […]]`; `["bytes", hex]`; `["float", bits]` for numbers that JSON has not; `["tensor", name, type, shape]`.
Every other value stands for itself.
"""

from __future__ import annotations

import json
import math
import struct
from collections import Counter
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from tailcut.bounded_files import parse_json
from tailcut.errors import InputError

_PLAIN = (type(None), bool, int, float, str)
_RESERVED = "__metadata__"
"""Key under which the safetensors library keeps metadata."""
_DOUBLE = struct.Struct(">d")
_TYPES = {
    str(kind).removeprefix("torch."): kind for kind in vars(torch).values() if isinstance(kind, torch.dtype)
}
_NATIVE = frozenset(
    _TYPES[name]
    for name in (
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
    )
)
"""Types that every version of the safetensors library can store; numbers of others are kept as bytes."""


class CheckpointError(InputError):
    """A state that cannot be put into a checkpoint, or a file that is no whole checkpoint."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """A nested state, separated into tensors and text.

    Attributes:
        tensors: copies in main memory, by name; a name is the path to the tensor, as in `state/net/0.weight`.
        tree: everything else, with names in the place of tensors.
    """

    tensors: dict[str, Tensor]
    tree: str


def flat_of(state: Any) -> Flat:
    """Separate a state as it is now into tensors and text; later changes of its tensors have no effect.

    Raises:
        CheckpointError: it holds something else than tensors, plain values, lists, tuples and dictionaries.

    Example:
        >>> flat = flat_of({"lr": 0.5, 3: [torch.ones(2), None]})
        >>> list(flat.tensors), state_of(flat.tree, flat.tensors)
        (['3/0'], {'lr': 0.5, 3: [tensor([1., 1.]), None]})
    """
    tensors: dict[str, Tensor] = {}
    plain = _plain(state, (), tensors)
    return Flat(tensors, json.dumps(plain, separators=(",", ":"), allow_nan=False))


def state_of(tree: str, tensors: dict[str, Tensor]) -> Any:
    """Return the state that `flat_of` separated; its tensors have memory of their own.

    Args:
        tree: text of `Flat`.
        tensors: tensors of `Flat`. Each is removed from it as soon as it is in its place.

    Raises:
        ValueError, KeyError, TypeError, RuntimeError: these are no state.
    """
    return _state(parse_json(tree), tensors)


def _plain(value: Any, way: tuple[str, ...], tensors: dict[str, Tensor]) -> Any:
    """Return the value as JSON can hold it; put its tensors into `tensors`."""
    if isinstance(value, Tensor):
        return _put(value, way, tensors)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        pairs = [
            [_plain(key, (*way, "key"), tensors), _plain(each, (*way, str(key)), tensors)]
            for key, each in value.items()
        ]
        # A state of `MultiStepLR` has a Counter, and needs one back.
        return ["counter" if isinstance(value, Counter) else "dict", pairs]
    if isinstance(value, list | tuple):
        values = [_plain(each, (*way, str(place)), tensors) for place, each in enumerate(value)]
        return ["list" if isinstance(value, list) else "tuple", values]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, float) and not math.isfinite(value):
        return ["float", _DOUBLE.pack(value).hex()]
    if type(value) in _PLAIN:
        return value
    raise CheckpointError(
        f"A state with a {type(value).__name__} in it, at {'/'.join(way)}, cannot be kept in a checkpoint: only "
        "tensors, numbers, words, and lists, tuples and dictionaries of them can."
    )


def _put(value: Tensor, way: tuple[str, ...], tensors: dict[str, Tensor]) -> list[Any]:
    if value.layout is not torch.strided or value.is_quantized or value.is_meta:
        kind = "quantised" if value.is_quantized else "meta" if value.is_meta else "sparse"
        raise CheckpointError(
            f"A {kind} tensor, at {'/'.join(way)}, cannot be kept in a checkpoint. Give an ordinary one."
        )
    numbers = value.detach().resolve_conj().resolve_neg().contiguous()
    if numbers.dtype not in _NATIVE:
        numbers = numbers.reshape(-1).view(torch.uint8)
    # Names are for people; the library refuses lone surrogates.
    name = "/".join(way).encode("ascii", "backslashreplace").decode() or "state"
    while name in tensors or name == _RESERVED:
        name += "'"
    tensors[name] = numbers.to("cpu", copy=True)
    return ["tensor", name, str(value.dtype).removeprefix("torch."), list(value.shape)]


def _state(plain: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(plain, list):
        if type(plain) not in _PLAIN:
            raise ValueError(f"a {type(plain).__name__} has no place in it")
        return plain
    kind, *more = plain
    match kind, more:
        case "tensor", [str(name), str(dtype), list(shape)]:
            return _got(tensors.pop(name), _TYPES[dtype], shape)
        case (("dict" | "counter"), [list(pairs)]):
            found = {_state(key, tensors): _state(each, tensors) for key, each in pairs}
            return found if kind == "dict" else Counter(found)
        case "list", [list(values)]:
            return [_state(each, tensors) for each in values]
        case "tuple", [list(values)]:
            return tuple(_state(each, tensors) for each in values)
        case "bytes", [str(digits)]:
            return bytes.fromhex(digits)
        case "float", [str(digits)]:
            return _DOUBLE.unpack(bytes.fromhex(digits))[0]
    raise ValueError(f"nothing is called {kind!r}")


def _got(numbers: Tensor, dtype: torch.dtype, shape: list[int]) -> Tensor:
    if numbers.dtype != (dtype if dtype in _NATIVE else torch.uint8):
        raise ValueError(f"numbers of {numbers.dtype} are in the place of {dtype}")
    # A copy: the library returns the file itself, mapped into memory.
    own = numbers.clone()
    if own.dtype != dtype:
        own = own.view(dtype)
    return own.reshape(shape)
