"""The folder of a run's checkpoints: names of files, and how they are listed, published and removed.

FOLDER/v00000120.safetensors    a published checkpoint; it came to its name by a rename, and is whole
FOLDER/.writing-5f3c…/          what one process is writing, or has written and not published; see `drafts.py`
"""

from __future__ import annotations

import re
from pathlib import Path

from tailcut.atomic import sync_folder

_PUBLISHED = re.compile(r"v(\d{8}|[1-9]\d{8,18})\.safetensors")


def name_of(version: int) -> str:
    """Return the name of a checkpoint's file.

    Example:
        >>> name_of(120)
        'v00000120.safetensors'
    """
    return f"v{version:08d}.safetensors"


def published(folder: Path) -> dict[int, Path]:
    """Return the files of published checkpoints by version, oldest first; none if there is no folder.

    Raises:
        OSError: it cannot be looked into.
    """
    try:
        names = [each.name for each in folder.iterdir() if each.is_file()]
    except FileNotFoundError:
        return {}
    found = {int(match[1]): folder / name for name in names if (match := _PUBLISHED.fullmatch(name))}
    return dict(sorted(found.items()))


def publish(draft: Path, folder: Path, version: int) -> None:
    """Give a whole file its name, atomically and durably; a file of that name is replaced.

    Raises:
        OSError: that was not possible.
    """
    draft.replace(folder / name_of(version))
    # The name is on the disk before the caller relies on it, or removes an older file.
    sync_folder(folder)


def prune(folder: Path, version: int, keep: int) -> None:
    """Remove all but the newest checkpoints up to a version.

    Those with a later version stay, and do not count: they are of a history that was given up, and the run
    that resumed from before them must not lose its own checkpoints to them.

    Args:
        folder: folder of the checkpoints.
        version: version that was published just now.
        keep: number of checkpoints that stay, with this one.

    Raises:
        OSError: a file could not be removed.
    """
    up_to_now = [path for each, path in published(folder).items() if each <= version]
    for path in up_to_now[:-keep]:
        path.unlink(missing_ok=True)
