"""Checks of a path that a user gave, and the choice of a format by its ending."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from tailcut.errors import TableError
from tailcut.traces.place import source_of

T = TypeVar("T")


def by_ending(path: Path, formats: Mapping[str, T]) -> T:
    """Return the entry of `formats` for the ending of `path`, in upper or lower case."""
    try:
        return formats[path.suffix.lower()]
    except KeyError:
        raise TableError(
            source_of(path),
            f"the ending must be one of {', '.join(formats)}",
            remedy="convert the table to one of these formats, or correct the ending",
            value=path.suffix,
        ) from None


def existing(path: Path) -> Path:
    """Return `path` if it is a file that is not empty; raise a `TableError` otherwise."""
    source = source_of(path)
    try:
        status = path.stat()
    except FileNotFoundError as error:
        remedy = f"check the path, relative ones start at {source_of(Path.cwd())}"
        raise TableError(source, "there is no such file", remedy=remedy) from error
    except (OSError, ValueError) as error:
        raise unreadable(source, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise TableError(source, "this is a folder", remedy="name a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise TableError(source, "this is not an ordinary file", remedy="copy the table to a file first")
    if not status.st_size:
        raise TableError(source, "the file is empty", remedy="write or copy it again")
    return path


def unreadable(source: str, error: Exception) -> TableError:
    """Return the error for a file that the operating system cannot read."""
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    remedy = "check its name, its permissions and the disk"
    return TableError(source, f"the file cannot be read ({why})", remedy=remedy)
