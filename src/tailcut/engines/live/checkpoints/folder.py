"""The folder of a run's checkpoints: names of files, which are published, and how one becomes so.

FOLDER/v00000120.safetensors    a published checkpoint; it came to its name by a rename, and is whole
FOLDER/.writing-5f3c…/          what one process is writing, or has written and not published; see `drafts.py`
"""

from __future__ import annotations

import re
from pathlib import Path

from tailcut.atomic import sync_folder

_PUBLISHED = re.compile(r"v(\d{8}|[1-9]\d{8,18})\.safetensors")


def name_of(version: int) -> str:
    """Of a checkpoint's file.

    Example:
        >>> name_of(120)
        'v00000120.safetensors'
    """
    return f"v{version:08d}.safetensors"


def published(folder: Path) -> dict[int, Path]:
    """Files of published checkpoints by version, oldest first; none where there is no folder.

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
    """Give a whole file its name, at once and for good; one of that name is replaced.

    Raises:
        OSError: that was not possible.
    """
    draft.replace(folder / name_of(version))
    # The name is on the disk before anybody relies on it, or removes an older one.
    sync_folder(folder)


def prune(folder: Path, version: int, keep: int) -> None:
    """Remove what is older than the newest few.

    Those with a later version stay, and do not count: they are of a course that was given up, and the run which went
    on from before them must not lose its own checkpoints to them.

    Args:
        folder: of the checkpoints.
        version: the one that was published just now.
        keep: how many stay, this one among them.

    Raises:
        OSError: one could not be removed.
    """
    up_to_now = [path for each, path in published(folder).items() if each <= version]
    for path in up_to_now[:-keep]:
        path.unlink(missing_ok=True)
