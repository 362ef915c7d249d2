"""A private folder that lasts as long as the process that made it, also where that process is killed.

A process that is killed cannot remove its folder, so the next one does. It must not remove a folder in use,
and process IDs are reused. So the owner holds a lock on a file in its folder, which the system releases when
the owner ends, however it ends. A folder without that file is never removed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "tailcut-"
LOCK = ".tailcut-owner"
"""File in the folder that its owner holds locked."""


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder that only this user can read, and remove it in the end; first remove those of killed processes."""
    folder, lock = _made()
    try:
        _remove_stale(folder.parent)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _made() -> tuple[Path, int]:
    """Return a new folder, and the descriptor that locks it."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            lock = os.open(folder / LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue
        with suppress(OSError):  # A file system without locks: no process can lock it, and none removes it.
            fcntl.flock(lock, fcntl.LOCK_EX)
        # Before it was locked another process may have taken it for one that was left behind.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.lstat(folder / LOCK)):
                return folder, lock
        os.close(lock)


def _remove_stale(parent: Path) -> None:
    """Remove the folders of this user whose owners have ended. What cannot be removed is left there."""
    with suppress(OSError), os.scandir(parent) as found:
        names = [each.name for each in found if each.name.startswith(PREFIX)]
    for name in names:
        with suppress(OSError):
            _remove_if_stale(parent / name)


def _remove_if_stale(folder: Path) -> None:
    # No link is followed: neither to a folder nor, in it, to a file.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    inside = os.open(folder, flags | os.O_DIRECTORY)
    try:
        lock = os.open(LOCK, flags | os.O_NONBLOCK, dir_fd=inside)
        try:
            both = os.fstat(inside), os.fstat(lock)
            if any(each.st_uid != os.geteuid() for each in both) or not stat.S_ISREG(both[1].st_mode):
                return
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Still locked here, so that an owner that has only just made it sees that it is gone.
            shutil.rmtree(folder)
        finally:
            os.close(lock)
    finally:
        os.close(inside)
