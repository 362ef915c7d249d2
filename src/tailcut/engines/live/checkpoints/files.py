"""One checkpoint as one file: safetensors, whose header has everything that is no tensor, and a checksum of it all.

The checksum is the SHA-256 of the file with zeros where the checksum's own digits are. It is looked at before anything
else is: what is cut off or has one bit wrong is not read. Reading executes nothing, whatever a file contains.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, final

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from tailcut.engines.live.checkpoints.trees import CheckpointError, Flat, state_of

KIND, VERSION = "tailcut checkpoint", "1"
LONGEST_HEADER = 100_000_000
"""Bytes; what the library reads at most."""
_LENGTH = struct.Struct("<Q")
_BLANK = b"0" * 64
# Within a text of JSON a quotation mark has a backslash before it, so that no text of the state looks like this.
_DIGEST = re.compile(rb'"digest" ?: ?"([0-9a-f]{64})"')
_CHUNK = 1 << 20
_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")
_NOT_READ = (SafetensorError, ValueError, KeyError, TypeError, IndexError, AttributeError, RuntimeError)


def write(path: Path, flat: Flat) -> None:
    """Make the file, and have it on the disk when this returns.

    Raises:
        OSError, SafetensorError: it could not be written; part of it may be there.
    """
    words = {"format": KIND, "version": VERSION, "digest": _BLANK.decode(), "tree": flat.tree}
    save_file(flat.tensors, path, words)
    with path.open("r+b") as file:
        seal = _seal(file)
        file.seek(seal.place)
        file.write(seal.found)
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> Any:
    """The state in a file.

    Needs main memory for the state once, however large the file claims to be.

    Raises:
        CheckpointError: the file is damaged, no checkpoint, of another version, or cannot be read.
        FileNotFoundError: it is not there.
    """
    try:
        with path.open("rb") as file:
            seal = _seal(file)
        if seal.stated != seal.found:
            raise ValueError("its contents do not match its checksum")
        words = json.loads(seal.header)["__metadata__"]
        if (words["format"], words["version"]) != (KIND, VERSION):
            raise ValueError(
                f"it is {words['format']!r} of version {words['version']!r}, not {KIND!r} of version {VERSION!r}"
            )
        return state_of(words["tree"], load_file(path))
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise CheckpointError(f"{path} cannot be read: {reason(problem)}.") from problem
    except _NOT_READ as problem:
        raise CheckpointError(f"{path} is no whole checkpoint: {problem}.") from problem


def reason(problem: Exception) -> str:
    """Why a file could not be read or written, in the system's words where it was the system."""
    number = problem.errno if isinstance(problem, OSError) else None
    if number is None and (found := _SYSTEM_ERROR.search(str(problem))):
        number = int(found[1])
    return os.strerror(number) if number else str(problem).rstrip(".") or type(problem).__name__


@final
@dataclass(frozen=True, slots=True)
class _Seal:
    """What a file's checksum says: where it stands, and what it should be."""

    header: bytes
    place: int
    stated: bytes
    found: bytes


def _seal(file: IO[bytes]) -> _Seal:
    size = os.fstat(file.fileno()).st_size
    start = file.read(_LENGTH.size)
    if len(start) < _LENGTH.size:
        raise ValueError(f"it has {size} bytes, which is too short")
    length = _LENGTH.unpack(start)[0]
    if length > min(size - _LENGTH.size, LONGEST_HEADER):
        raise ValueError(f"its header should have {length} bytes, and the file has {size}")
    header = file.read(length)
    marks = list(_DIGEST.finditer(header))
    if len(marks) != 1:
        raise ValueError("its header has no checksum")
    begin, end = marks[0].span(1)
    found = hashlib.sha256(start + header[:begin] + _BLANK + header[end:])
    while chunk := file.read(_CHUNK):
        found.update(chunk)
    return _Seal(header, len(start) + begin, marks[0][1], found.hexdigest().encode())
