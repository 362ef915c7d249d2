"""Reading of bytes from a file up to a limit, with errors of one sentence."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import IO

from tailcut.bounded_files import open_file
from tailcut.errors import InputError

MAX_BYTES = 1 << 30
"""Largest array in a data file, in bytes."""

_GZIP, _PIECE = b"\x1f\x8b", 1 << 20


def wrong(path: Path, problem: str, remedy: str) -> InputError:
    """Return an error with file, problem and remedy in one message, for the caller to raise."""
    return InputError(f"{path}: {problem}. Remedy: {remedy}.")


def read_bytes(path: Path, most: int = MAX_BYTES) -> bytes:
    """Read a whole file, unpacked if its content is gzipped; refuse more than `most` bytes."""
    try:
        with open_file(path) as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            found = _at_most(gzip.GzipFile(fileobj=file) if packed else file, most)
    except OSError as error:
        raise wrong(path, f"cannot be read ({error.strerror or error})", "name a readable file") from error
    except (EOFError, zlib.error) as error:
        raise wrong(path, "the gzip file is cut short or damaged", "copy it again") from error
    if found is None:
        raise wrong(path, f"holds more than {most:,} bytes", "name a smaller file")
    return found


def _at_most(file: IO[bytes] | gzip.GzipFile, most: int) -> bytes | None:
    """Read a whole file in pieces, so that memory grows with its content; None if it exceeds `most` bytes."""
    parts, total = [], 0
    while part := file.read(_PIECE):
        parts.append(part)
        total += len(part)
        if total > most:
            return None
    return b"".join(parts)


def data_folder(task: str, folder: str, holds: str) -> Path:
    """Return the folder (or file) that a task reads; `holds` describes the expected files in messages."""
    if not folder:
        raise InputError(f"The task {task} needs a folder with {holds}: write {task}:folder=PATH.")
    path = Path(folder).expanduser()
    if not path.exists():
        raise wrong(path, "there is no such folder", f"name one that holds {holds}")
    return path


def find(folder: Path, names: tuple[str, ...]) -> Path | None:
    """Return the first of several names that a folder holds."""
    return next((folder / name for name in names if (folder / name).is_file()), None)
