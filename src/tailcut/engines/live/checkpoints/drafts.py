"""The folder of a process for what is not published yet, locked for as long as the process lives.

The system releases the lock when the process ends, however it ends. So a process that can lock such a folder
knows that no other writes there any more, and may remove it. The files of a living process are never touched,
be it on this machine or, with a shared file system that passes locks on, on another one. Where a file system
has no locks, nothing is removed.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import final

from tailcut.engines.live.checkpoints.folder import name_of

PREFIX, LOCK = ".writing-", "lock"
TRIES = 100
"""Most attempts at making a folder; another process may take it for an abandoned one and remove it."""


@final
class Drafts:
    """A folder for drafts.

    Args:
        folder: folder of the checkpoints; made if it is missing.

    Raises:
        OSError: it cannot be made, or nothing can be written in it.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for _ in range(TRIES):
            self.root = folder / f"{PREFIX}{secrets.token_hex(6)}"
            self.root.mkdir()
            handle = _made(self.root / LOCK)
            if handle is not None:
                self._handle = handle
                return
        raise OSError(f"others kept clearing {self.root} away")

    @property
    def there(self) -> bool:
        """Return whether no other process has removed the folder."""
        return (self.root / LOCK).exists()

    def path(self, version: int) -> Path:
        """Return the path of the draft of a version."""
        return self.root / name_of(version)

    def close(self) -> None:
        """Remove the folder with all that is in it, and release the lock."""
        with suppress(OSError):
            _remove(self.root)
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1


def sweep(folder: Path) -> None:
    """Remove the folders of processes that have ended; what cannot be removed stays."""
    for root in folder.glob(f"{PREFIX}*"):
        # A link could lead anywhere.
        if root.is_symlink():
            continue
        with suppress(OSError):
            _sweep(root)


def _made(path: Path) -> int | None:
    """Return the descriptor of a new, locked file; None if another process has just removed it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    except FileNotFoundError:
        return None
    try:
        # For people; and a full disk is noticed at once.
        os.write(handle, f"process {os.getpid()}\n".encode())
    except OSError:
        os.close(handle)
        _remove(path.parent)
        raise
    if _try_to_lock(handle) is not False and path.exists():
        return handle
    os.close(handle)
    return None


def _try_to_lock(handle: int) -> bool | None:
    """Lock a file, and return True; False if another process has locked it, None if there are no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _sweep(root: Path) -> None:
    try:
        handle = os.open(root / LOCK, os.O_RDWR)
    except FileNotFoundError:
        # Only an empty folder is removed: the lock is made before anything else.
        root.rmdir()
        return
    try:
        if _try_to_lock(handle):
            _remove(root)
    finally:
        os.close(handle)


def _remove(root: Path) -> None:
    """Remove a folder, drafts first: as long as there are any, the lock tells whether they are in use."""
    for each in root.iterdir():
        if each.name != LOCK:
            each.unlink(missing_ok=True)
    (root / LOCK).unlink(missing_ok=True)
    root.rmdir()
