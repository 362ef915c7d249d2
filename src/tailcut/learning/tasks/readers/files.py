"""Bytes from a file, never more than there should be, and the sentence where something is wrong with it."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import IO

from tailcut.bounded_files import open_file
from tailcut.errors import InputError

MAX_BYTES = 1 << 30
"""The largest array a data file may hold."""

_GZIP, _PIECE = b"\x1f\x8b", 1 << 20


def wrong(path: Path, problem: str, remedy: str) -> InputError:
    """One sentence with file, problem and remedy, to be raised."""
    return InputError(f"{path}: {problem}. Remedy: {remedy}.")


def read_bytes(path: Path, most: int = MAX_BYTES) -> bytes:
    """All of a file, unpacked where it is gzipped, whatever it is called; more than `most` bytes are refused."""
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
    """Everything, None if that is more than `most` bytes; in pieces, so that no memory is set aside for what is not."""
    parts, total = [], 0
    while part := file.read(_PIECE):
        parts.append(part)
        total += len(part)
        if total > most:
            return None
    return b"".join(parts)


def data_folder(task: str, folder: str, holds: str) -> Path:
    """The folder (or file) a task reads from; `holds`: what should be there."""
    if not folder:
        raise InputError(f"The task {task} needs a folder with {holds}: write {task}:folder=PATH.")
    path = Path(folder).expanduser()
    if not path.exists():
        raise wrong(path, "there is no such folder", f"name one that holds {holds}")
    return path


def find(folder: Path, names: tuple[str, ...]) -> Path | None:
    """The first of several names that a folder holds."""
    return next((folder / name for name in names if (folder / name).is_file()), None)
