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
    """Yield a new file to write to. It replaces `path` if the block succeeds; otherwise it is deleted.

    Args:
        path: the file to create or replace; a symbolic link keeps pointing at the file that is replaced.
        lasting: whether to wait for the disk, so that the file is whole after a power failure too.
    """
    target = Path(os.path.realpath(path))
    # The draft is in the same folder: a rename is atomic only within one file system. Its name is random, so
    # that two writers do not collide, and does not contain the target's name, which may be long.
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
    """Flush the names in a folder to the disk: a renamed file keeps its name after a power failure.

    Raises:
        OSError: the folder cannot be opened or flushed.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
