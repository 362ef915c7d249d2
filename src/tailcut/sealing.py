"""A checksum within a safetensors file, over all of the file: what is cut off or has one bit wrong does not match it.

The checksum is a word in the file's header, the SHA-256 of the file with zeros where the checksum's own digits are. So
the file stays one that any reader of the format can read, and no second file can be lost or belong to another one.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from dataclasses import dataclass
from typing import IO, final

LONGEST_HEADER = 100_000_000
"""Bytes; what the library reads at most."""
_LENGTH = struct.Struct("<Q")
_BLANK = b"0" * 64
BLANK = {"digest": _BLANK.decode()}
"""The word that a header must have, until the file is sealed."""
# Within a text of JSON a quotation mark has a backslash before it, so that no text of the state looks like this.
_DIGEST = re.compile(rb'"digest" ?: ?"([0-9a-f]{64})"')
_CHUNK = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class Seal:
    """What a file's checksum says.

    Attributes:
        header: of the file.
        place: where the checksum stands in it, in bytes from its beginning.
        stated: the checksum that stands there.
        found: the one that should.
    """

    header: bytes
    place: int
    stated: bytes
    found: bytes

    def check(self) -> None:
        """Raise if the file is not as it was sealed.

        Raises:
            ValueError: the end of a sentence about the file.
        """
        if self.stated != self.found:
            raise ValueError("its contents do not match its checksum")


def seal_of(file: IO[bytes]) -> Seal:
    """The seal of a file, which is read piece by piece, however large it claims to be.

    Raises:
        ValueError: it has none; the end of a sentence about the file.
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
    """Put the checksum into a file whose header has the word `BLANK`.

    Example:
        >>> import io, numpy, safetensors.numpy
        >>> file = io.BytesIO(safetensors.numpy.save({"a": numpy.ones(2)}, BLANK))
        >>> seal(file)
        >>> seal_of(file).check()
    """
    found = seal_of(file)
    file.seek(found.place)
    file.write(found.found)
