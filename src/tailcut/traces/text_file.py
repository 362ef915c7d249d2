"""Reading of UTF-8 text for the text formats."""

from __future__ import annotations

import codecs
from pathlib import Path

from tailcut.bounded_files import read_bytes
from tailcut.errors import TableError
from tailcut.traces.limits import MAX_TEXT_BYTES
from tailcut.traces.place import LINES


def read_utf8(path: Path, source: str) -> bytes:
    """Read the bytes of a text file without a byte-order mark, and check that they are UTF-8."""
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
