"""Reading UTF-8 text, as the text formats need it."""

from __future__ import annotations

import codecs
from pathlib import Path

from tailcut.bounded_files import read_bytes
from tailcut.errors import TableError
from tailcut.traces.limits import MAX_TEXT_BYTES
from tailcut.traces.place import LINES


def read_utf8(path: Path, source: str) -> bytes:
    """The bytes of a text file, proven to be UTF-8, without a byte-order mark."""
    data = read_bytes(path, MAX_TEXT_BYTES).removeprefix(codecs.BOM_UTF8)
    if not data.isascii():
        _refuse_invalid(data, source)
    return data


def _refuse_invalid(data: bytes, source: str) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = len(data[: error.start + 1].splitlines())
        raise TableError(
            source,
            "the text is not valid UTF-8",
            remedy=f"save it as UTF-8 text, or give the file the ending of its real format ({LINES})",
            row=line,
            value=data[error.start : error.start + 4],
        ) from error
