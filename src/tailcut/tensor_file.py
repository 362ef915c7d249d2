"""Arrays and a few texts in one safetensors file: written atomically, read with every problem as a sentence.

A file is written with a checksum of `tailcut.sealing`, and refused if that does not match. The format holds
numbers and text and nothing that could run: whatever a file contains, reading it executes nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tailcut.atomic import replacing
from tailcut.bounded_files import parse_json, read_bytes
from tailcut.errors import InputError, one_line
from tailcut.sealing import BLANK, seal, seal_of

Array = NDArray[Any]

MAX_BYTES = 1 << 30
"""Largest file that is read, in bytes: models and states of policies are a thousand times smaller."""
_LENGTH = 8
"""Bytes at the start that say how long the header is."""
_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")
"""First bytes of pickles, and of the archives in which torch stores them."""


def write_tensors(path: Path, arrays: Mapping[str, Array], words: Mapping[str, str]) -> None:
    """Write arrays and words; a file of that name is replaced once the new one is whole and on the disk.

    Args:
        path: the file to create or replace.
        arrays: any shapes; numbers or booleans.
        words: texts that describe the arrays.

    Raises:
        InputError: the file cannot be written there.
    """
    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    data = BytesIO(save(whole, {**words, **BLANK}))
    seal(data)
    try:
        with replacing(path) as file:
            file.write(data.getbuffer())
    except (OSError, ValueError) as problem:
        raise InputError(
            f"{path} cannot be written: {_reason(problem)}. Give a path in a folder of yours."
        ) from problem


def read_tensors(
    path: Path, kind: str, version: str, make: str, sealed: bool = False
) -> tuple[dict[str, Array], dict[str, str]]:
    """Read what `write_tensors` has written.

    Args:
        path: the file.
        kind: required value of its text `format`.
        version: required value of its text `version`.
        make: how to make such a file, for the remedy in a message, as in "make one with tailcut fit".
        sealed: whether a file without a checksum is refused; files of an older form have none.

    Returns:
        The arrays, and the texts.

    Raises:
        InputError: the file is missing, of another kind or version, or damaged.
    """
    data = _bytes(path, make)
    words = _words(path, data, make)
    if words.get("format") != kind:
        raise InputError(f"{path} holds no {kind}, but {words.get('format', 'other arrays')!r}; {make}.")
    if words.get("version") != version:
        raise InputError(
            f"{path} is of version {words.get('version')!r} of this format, "
            f"but this program reads version {version!r}; {make}."
        )
    is_sealed = BLANK.keys() <= words.keys()
    if sealed and not is_sealed:
        raise InputError(f"{path} has no checksum: it is damaged, or of an older form; {make}.")
    try:
        if is_sealed:
            seal_of(BytesIO(data)).check()
        return load(data), words
    except (SafetensorError, ValueError, KeyError, TypeError) as problem:
        raise InputError(f"{path} is damaged or cut off ({one_line(problem)}); {make}.") from problem


def _bytes(path: Path, make: str) -> bytes:
    try:
        data = read_bytes(path, MAX_BYTES)
    except (OSError, ValueError) as problem:
        raise InputError(
            f"{path} cannot be read: {_reason(problem)}; check the path, or {make}."
        ) from problem
    # The length of a header can look like the beginning of a pickle: a length of 640 bytes does.
    if data.startswith(_PICKLES) and data[_LENGTH : _LENGTH + 1] != b"{":
        raise InputError(
            f"{path} is a pickle, which could run anything when it is read, and is not read here; {make}."
        )
    return data


def _reason(problem: OSError | ValueError) -> str:
    """Return the system's message; an error without one, as for a null byte in the path, has its own text."""
    return (problem.strerror if isinstance(problem, OSError) else None) or str(problem)


def _words(path: Path, data: bytes, make: str) -> dict[str, str]:
    """Return the texts in the header; the arrays are not read."""
    length = struct.unpack("<Q", data[:_LENGTH])[0] if len(data) >= _LENGTH else 0
    header = data[_LENGTH : _LENGTH + length]
    if not header.startswith(b"{"):
        raise InputError(f"{path} is no safetensors file, or damaged at its very beginning; {make}.")
    if len(header) < length:
        raise InputError(f"{path} is cut off within its header; {make}.")
    try:
        words = parse_json(header.decode()).get("__metadata__", {})
        return {str(name): str(text) for name, text in words.items()}
    except (ValueError, AttributeError) as problem:
        raise InputError(f"{path} has a damaged header; {make}.") from problem
