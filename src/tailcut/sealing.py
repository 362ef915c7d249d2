"""A checksum over a whole safetensors file, stored in its header: an altered file does not match it.

It is the SHA-256 of the file with zeros in place of the checksum's own digits. So any reader of the format
can read the file, and there is no second file that could be lost.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from dataclasses import dataclass
from typing import IO, final

LONGEST_HEADER = 100_000_000
"""Longest header that the safetensors library reads, in bytes."""
_LENGTH = struct.Struct("<Q")
_BLANK = b"0" * 64
BLANK = {"digest": _BLANK.decode()}
"""Entry that the header's metadata must have until the file is sealed."""
# In a JSON text quotation marks are escaped by a backslash, so that no text of the state matches this.
_DIGEST = re.compile(rb'"digest" ?: ?"([0-9a-f]{64})"')
_CHUNK = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class Seal:
    """The checksum of a file, as stated and as computed.

    Attributes:
        header: header of the file.
        place: position of the checksum in the file, in bytes.
        stated: checksum that the file states.
        found: checksum computed from the file.
    """

    header: bytes
    place: int
    stated: bytes
    found: bytes

    def check(self) -> None:
        """Raise if the file has changed since it was sealed.

        Raises:
            ValueError: the checksums differ; the message is the end of a sentence about the file.
        """
        if self.stated != self.found:
            raise ValueError("its contents do not match its checksum")


def seal_of(file: IO[bytes]) -> Seal:
    """Return the seal of a file, which is read in chunks, however large its header claims it to be.

    Raises:
        ValueError: it has no checksum; the message is the end of a sentence about the file.
    """
    file.seek(0)
    start = file.read(_LENGTH.size)
    size = file.seek(0, os.SEEK_END)
    file.seek(len(start))
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
    return Seal(header, len(start) + begin, marks[0][1], found.hexdigest().encode())


def seal(file: IO[bytes]) -> None:
    """Write the checksum into a file whose header has the entry `BLANK`.

    Example:
        >>> import io, numpy, safetensors.numpy
        >>> file = io.BytesIO(safetensors.numpy.save({"a": numpy.ones(2)}, BLANK))
        >>> seal(file)
        >>> seal_of(file).check()
    """
    found = seal_of(file)
    file.seek(found.place)
    file.write(found.found)
