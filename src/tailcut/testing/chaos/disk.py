"""A small disk of its own for what the engine writes, so that it can be filled. Needs root."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tailcut.errors import InputError

MEGABYTES = 96
FILLER = "filler"


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A folder that is there is a disk for as long as this lasts.

    Raises:
        InputError: this machine does not allow it.
    """
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"No disk can be made at {folder}: {done.stderr.strip()}. Run this as root.")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=False)


def fill(folder: Path) -> None:
    """Leave no byte of room on a disk; one that is not small is left alone."""
    if not folder.is_mount():
        return
    with (folder / FILLER).open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            # A block that no longer fits is followed by smaller ones.
            with suppress(OSError):
                while file.write(bytes(size)) == size:
                    pass


def empty(folder: Path) -> None:
    """Make room again."""
    (folder / FILLER).unlink(missing_ok=True)
