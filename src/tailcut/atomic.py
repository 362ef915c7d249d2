"""Replace a file at once: readers see the old one or the new one, never half of it."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path, lasting: bool = True) -> Iterator[IO[bytes]]:
    """A new file to write to, which takes the place of `path` if the block ends well and vanishes otherwise.

    Args:
        path: the file to create or replace; a symbolic link keeps pointing at the file that is replaced.
        lasting: whether to wait for the disk, so that the file is whole after a power failure too.
    """
    target = Path(os.path.realpath(path))
    # In the same folder: a rename is atomic only within one file system. A random name: two writers do not
    # meet, and a long name of the target leaves room.
    draft = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            if lasting:
                os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, draft)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk: a file that was renamed keeps its new name after a power failure.

    Raises:
        OSError: that was not possible.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
