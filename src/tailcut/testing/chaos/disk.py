"""A small disk for the files that the engine writes, so that a fault can fill it. Needs root."""

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
    """Mount a small disk at an existing folder while the context lasts.

    Raises:
        InputError: this machine does not allow the mount.
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
    """Fill the disk mounted at a folder to the last byte; do nothing if none is mounted there."""
    if not folder.is_mount():
        return
    with (folder / FILLER).open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            # When a block no longer fits, smaller ones fill the rest.
            with suppress(OSError):
                while file.write(bytes(size)) == size:
                    pass


def empty(folder: Path) -> None:
    """Free the space that `fill` took."""
    (folder / FILLER).unlink(missing_ok=True)
