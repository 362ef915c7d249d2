"""Where a process writes what is not published yet: a folder of its own, locked for as long as the process lives.

The system lets go of the lock when the process ends, however it ends. So whoever can lock such a folder knows that
nobody writes there any more, and may clear it away; what a living process writes is never touched, be it on this
machine or, with a shared file system that passes locks on, on another one. Where a file system has no locks, nothing
is cleared away.
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
"""At making a folder that others, who just then clear up, take for one that was left."""


@final
class Drafts:
    """A folder for drafts.

    Args:
        folder: of the checkpoints; made where it is not there.

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
        """Whether nobody has removed it."""
        return (self.root / LOCK).exists()

    def path(self, version: int) -> Path:
        """Of a draft."""
        return self.root / name_of(version)

    def close(self) -> None:
        """Remove it with all that is in it."""
        with suppress(OSError):
            _remove(self.root)
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1


def sweep(folder: Path) -> None:
    """Clear away what processes have left that are no more; what cannot be cleared away stays."""
    for root in folder.glob(f"{PREFIX}*"):
        # A link could lead anywhere.
        if root.is_symlink():
            continue
        with suppress(OSError):
            _sweep(root)


def _made(path: Path) -> int | None:
    """A locked file; None where somebody has just taken it away."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    except FileNotFoundError:
        return None
    try:
        # For people; and a disk that takes not even this is told of at once.
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
    """Whether it is locked now; False where somebody else has it, None where there are no locks."""
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
        # Empty, or it stays: the lock is made before anything else.
        root.rmdir()
        return
    try:
        if _try_to_lock(handle):
            _remove(root)
    finally:
        os.close(handle)


def _remove(root: Path) -> None:
    """Drafts first: as long as there are any, the lock tells whose they are."""
    for each in root.iterdir():
        if each.name != LOCK:
            each.unlink(missing_ok=True)
    (root / LOCK).unlink(missing_ok=True)
    root.rmdir()
