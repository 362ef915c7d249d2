"""Finds the newest checkpoint that is whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, final

from tailcut.engines.live.checkpoints.files import read, reason
from tailcut.engines.live.checkpoints.folder import published
from tailcut.engines.live.checkpoints.trees import CheckpointError


@final
@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A checkpoint that was read from its file.

    Attributes:
        version: number of updates of the net.
        state: tensors in main memory, plain values, and lists, tuples and dictionaries of them.
        extra: the further values that were given with the state.
        path: path of its file.
    """

    version: int
    state: dict[str, Any]
    extra: dict[str, Any]
    path: Path


def newest(folder: str | PathLike[str], say: Callable[[str], None]) -> Checkpoint | None:
    """Return the newest published checkpoint that is whole; None if none was published.

    Args:
        folder: folder of the checkpoints.
        say: is told, in a sentence, of each damaged checkpoint.

    Raises:
        CheckpointError: the folder cannot be looked into, or has checkpoints of which not one is whole.
    """
    folder = Path(folder)
    passed_over: set[int] = set()
    damaged = 0
    # The folder is read again each time: a run may be publishing there, and removing older checkpoints.
    while left := {each: path for each, path in _published(folder).items() if each not in passed_over}:
        version = max(left)
        passed_over.add(version)
        try:
            return _loaded(left[version], version)
        except FileNotFoundError:
            continue
        except CheckpointError as problem:
            damaged += 1
            say(f"A checkpoint is passed over. {problem}")
    if damaged:
        raise CheckpointError(
            f"Not one of the {damaged} checkpoints in {folder} is whole. Restore one from a copy, or give "
            "another folder to begin anew."
        )
    return None


def _published(folder: Path) -> dict[int, Path]:
    try:
        return published(folder)
    except OSError as problem:
        raise CheckpointError(
            f"There are no checkpoints to be had from {folder} ({reason(problem)}). Give a folder that can be read."
        ) from problem


def _loaded(path: Path, version: int) -> Checkpoint:
    found = read(path)
    match found:
        case {"version": int(stated), "state": dict(state), "extra": dict(extra)} if stated == version:
            return Checkpoint(version, state, extra, path)
        case {"version": int(stated), "state": dict(), "extra": dict()}:
            raise CheckpointError(f"{path} holds version {stated}, which its name does not say.")
    raise CheckpointError(f"{path} is no whole checkpoint: it holds no state.")
