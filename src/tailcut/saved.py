"""A policy's state in a file, so that a run can be resumed with the same decisions.

The arrays of the state are stored in a safetensors file; a text in its header describes how they nest.
Nothing in the file names code to run or to import: loading builds only the types that the policy declares for
its belief and memory.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailcut.bounded_files import parse_json
from tailcut.declared import Declared, belief_of, memory_of
from tailcut.errors import InputError
from tailcut.policy import Policy, PolicyState
from tailcut.tensor_file import Array, read_tensors, write_tensors

KIND, VERSION = "tailcut-state", "1"
MAKE = "save the state of a run of this policy again"


class OtherPolicyError(InputError):
    """A file is whole and holds the state of another policy.

    Attributes:
        saved_by: the name of the policy that saved the state; empty where the file does not tell.
    """

    def __init__(self, sentence: str, saved_by: str) -> None:
        super().__init__(sentence)
        self.saved_by = saved_by


def save_state(path: Path | str, state: PolicyState, policy: str = "") -> None:
    """Write a policy's state; a file of that name is replaced at once, when the new one is on the disk.

    Args:
        path: the file.
        state: value of `Rounds.state`.
        policy: the policy's name, for messages; empty for none.

    Raises:
        InputError: the file cannot be written.
        TypeError: the state holds something other than frozen dataclasses, arrays, numbers, text, None and tuples.

    Example:
        >>> import tempfile
        >>> from tailcut.policies import bandit
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_state(f"{folder}/state.safetensors", bandit().start())
        ...     load_state(f"{folder}/state.safetensors", bandit()).memory.n
        0
    """
    arrays: dict[str, Array] = {}
    structure = [_told(state.belief, "belief", arrays), _told(state.memory, "memory", arrays)]
    words = {"format": KIND, "version": VERSION, "structure": json.dumps(structure, allow_nan=False)}
    words |= {"policy": policy} if policy else {}
    write_tensors(Path(path), arrays, words)


def load_state(path: Path | str, policy: Policy) -> PolicyState:
    """Read a state that a run of the same policy has saved.

    Args:
        path: the file.
        policy: whose state it is; only what it declares to remember is built.

    Raises:
        InputError: the file is of another kind or version, damaged, or without a checksum.
        OtherPolicyError: the file holds the state of another policy.
    """
    arrays, words = read_tensors(Path(path), KIND, VERSION, MAKE, sealed=True)
    try:
        structure = parse_json(words.get("structure", ""))
        if not isinstance(structure, list) or len(structure) != 2:
            raise _MisfitError("its structure is not that of a state")
        belief = _Builder(arrays).built(structure[0], belief_of(policy.forecaster), "belief")
        memory = _Builder(arrays).built(structure[1], memory_of(policy.rule), "memory")
    except _OtherKindError as problem:
        # The checksum was right: the file is not damaged.
        sentence = f"{path} holds the state of another policy: {problem}; {MAKE}."
        raise OtherPolicyError(sentence, words.get("policy", "")) from problem
    except (_MisfitError, ValueError, ArithmeticError, RecursionError) as problem:
        raise InputError(f"{path} is damaged: {problem}; {MAKE}.") from problem
    return PolicyState(belief, memory)


class _MisfitError(Exception):
    """A description of a value is malformed."""


class _OtherKindError(_MisfitError):
    """A value is not of the type that the policy declares."""


def _told(value: Any, place: str, arrays: dict[str, Array]) -> Any:
    """Return a value as JSON can hold it; its arrays go into `arrays`, each under the name of its place."""
    match value:
        case None | bool() | str():
            return value
        case np.ndarray() | np.generic():
            return _put_aside(value, place, arrays)
        case int():
            return value
        case float():
            # Hexadecimal is exact, and can express infinity and NaN.
            return {"float": value.hex()}
        case tuple():
            return {"tuple": [_told(each, f"{place}.{i}", arrays) for i, each in enumerate(value)]}
    if not is_dataclass(value):
        raise TypeError(
            f"{place} is a {type(value).__name__}, which a saved state cannot hold; use a frozen dataclass."
        )
    parts = {f.name: _told(getattr(value, f.name), f"{place}.{f.name}", arrays) for f in fields(value)}
    return {"type": type(value).__name__, "fields": parts}


def _put_aside(value: Array | np.generic, place: str, arrays: dict[str, Array]) -> dict[str, str]:
    if value.dtype.kind not in "biuf":
        raise TypeError(
            f"{place} is an array of {value.dtype}, which a saved state cannot hold; use numbers."
        )
    if isinstance(value, np.generic):
        arrays[place] = np.asarray(value)
        return {"scalar": place}
    # The order in memory decides the order of summation and so its rounding: it belongs to the state.
    turned = value.flags.f_contiguous and not value.flags.c_contiguous
    arrays[place] = value.T if turned else value
    return {"turned" if turned else "array": place}


class _Builder:
    """Builds values from their description, each of a declared kind."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self._arrays = arrays

    def built(self, told: Any, declared: Declared, place: str) -> Any:
        match told:
            case None | bool() | int() | str():
                value: Any = told
            case {"float": str(text), **rest} if not rest:
                value = float.fromhex(text)
            case {"array": str(name), **rest} if not rest:
                value = self._array(name)
            case {"turned": str(name), **rest} if not rest:
                value = self._array(name).T
            case {"scalar": str(name), **rest} if not rest:
                value = self._array(name)[()]
            case {"tuple": list(items), **rest} if not rest:
                return self._tuple(items, declared, place)
            case {"type": str(name), "fields": dict(parts), **rest} if not rest:
                return self._record(name, parts, declared, place)
            case _:
                raise _MisfitError(f"{place} is described in no known way")
        if not declared.holds(value):
            raise _OtherKindError(f"{place} is {_kind(value)}, but must be {declared}")
        return value

    def _array(self, name: str) -> Array:
        if name not in self._arrays:
            raise _MisfitError(f"the array {name!r} is missing")
        return self._arrays[name]

    def _tuple(self, items: list[Any], declared: Declared, place: str) -> tuple[Any, ...]:
        expected = declared.items(len(items))
        if expected is None:
            raise _OtherKindError(f"{place} is a tuple of {len(items)}, but must be {declared}")
        pairs = zip(items, expected, strict=True)
        return tuple(self.built(item, kind, f"{place}.{i}") for i, (item, kind) in enumerate(pairs))

    def _record(self, name: str, parts: dict[str, Any], declared: Declared, place: str) -> Any:
        record = declared.record(name)
        if record is None:
            raise _OtherKindError(f"{place} is a {name}, but must be {declared}")
        if set(parts) != set(record.fields):
            odd = ", ".join(sorted(set(parts) ^ set(record.fields)))
            raise _OtherKindError(f"{place} and this program's {name} differ in {odd}")
        values = {key: self.built(parts[key], kind, f"{place}.{key}") for key, kind in record.fields.items()}
        return record.make(**values)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return "None" if value is None else f"{value!r:.40}"
