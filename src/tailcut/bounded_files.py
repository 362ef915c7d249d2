"""Files of the user, read within bounds of time and memory, whatever they are and hold.

A path may name a pipe, a device, or a file without end; a text may nest without end or hold a number of a million
digits. Here only ordinary files are opened, at most so many bytes are read, and JSON either has a value or is refused
with a `ValueError` that ends a sentence about the file.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

MAX_DOCUMENT_BYTES = 16 << 20
"""Largest JSON document, and largest line of a journal, in bytes: 100,000 workers need about half of it."""
_CHUNK_BYTES = 1 << 20

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


class UnfitFileError(OSError):
    """An error about a file that is not read, because it is not an ordinary file or is too large.

    Callers handle it as any other `OSError`: `strerror` says what is wrong.
    """

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(errno.EINVAL, why, str(path))


def open_file(path: Path) -> IO[bytes]:
    """Open an ordinary file to read its bytes; a pipe, a device or a folder is refused at once.

    Raises:
        OSError: the file cannot be opened, or is not an ordinary file.
    """
    # Without O_NONBLOCK opening a pipe would wait for a writer; ordinary files ignore the flag.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        # The check is on the open descriptor, so that no other file can replace the path in between.
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
        if not stat.S_ISREG(mode):
            kind = _KINDS.get(stat.S_IFMT(mode), "something else")
            raise UnfitFileError(path, f"it is {kind}, not an ordinary file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: Path, most: int) -> bytes:
    """Return all bytes of an ordinary file.

    Args:
        path: the file.
        most: bytes that it may have.

    Raises:
        OSError: the file cannot be read, is not an ordinary file, or has more bytes.
    """
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        # Python allocates memory for as many bytes as are requested, so the request is the size of the file.
        parts = [file.read(size + 1)] if size <= most else []
        found = len(parts[0]) if parts else size
        # A file that grows meanwhile, or a system file that reports no size, has more bytes.
        while found <= most and (more := file.read(min(_CHUNK_BYTES, most + 1 - found))):
            parts.append(more)
            found += len(more)
    if found > most:
        raise UnfitFileError(path, f"it has more than {most:,} bytes")
    return b"".join(parts)


def read_text(path: Path, most: int = MAX_DOCUMENT_BYTES) -> str:
    """Return the text of an ordinary file in UTF-8.

    Raises:
        OSError: as `read_bytes` does.
        UnicodeDecodeError: the bytes are not UTF-8.
    """
    return read_bytes(path, most).decode("utf-8")


def read_lines(path: Path, most: int = MAX_DOCUMENT_BYTES) -> Iterator[str]:
    """Yield the lines of an ordinary file, one at a time: the file may be larger than the memory.

    Bytes that are not UTF-8 are replaced; the parser of the line then refuses them.

    Args:
        path: the file.
        most: bytes that a line may have.

    Raises:
        OSError: the file cannot be read, is not an ordinary file, or has a longer line.
    """
    number = 0
    with open_file(path) as file:
        while line := file.readline(most + 1):
            number += 1
            if len(line) > most:
                raise UnfitFileError(path, f"its line {number} has more than {most:,} bytes")
            yield line.decode("utf-8", errors="replace")


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: the text is not JSON, nests too deeply, or has a number of thousands of digits.

    Example:
        >>> parse_json('{"a": [1]}')
        {'a': [1]}
        >>> parse_json("[" * 100_000)
        Traceback (most recent call last):
        ValueError: it is nested too deeply
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:
        raise ValueError("it has a number with thousands of digits") from None


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a JSON document holds.

    Raises:
        OSError: as `read_bytes` does.
        ValueError: the file holds no JSON object.
    """
    values = parse_json(read_text(path))
    if not isinstance(values, dict):
        raise ValueError("it holds no JSON object")
    return values
