"""The file of an interrupted training, beside the model file, from which the training can be resumed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tailcut.errors import ModelFileError
from tailcut.fitting.loop import Arrays, Training
from tailcut.modelfile import read_model, write_model
from tailcut.table import Table

ENDING = ".unfinished"


def place_beside(path: Path) -> Path:
    """Return the path of the unfinished training of this model file."""
    return path.with_name(path.name + ENDING)


def fingerprint(table: Table, settings: Mapping[str, object]) -> str:
    """Return 16 hexadecimal digits that differ where run times, nodes or settings differ."""
    digest = hashlib.sha256(repr(sorted((name, str(value)) for name, value in settings.items())).encode())
    for array in (table.seconds, table.observed, table.nodes):
        digest.update(repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def write_unfinished(path: Path, kind: str, training: Training, print_of_it: str) -> None:
    """Write all state that is needed to resume a training.

    Raises:
        ModelFileError: the file cannot be written.
    """
    arrays = training.arrays()
    about = {"fingerprint": print_of_it, "checksum": _checksum(arrays)}
    write_model(path, f"{kind}-training", arrays, about)


def restore_unfinished(path: Path, kind: str, training: Training, print_of_it: str) -> bool:
    """Restore a training from its file; return False if there is no file.

    Raises:
        ModelFileError: the file is damaged, or belongs to other run times or settings.
    """
    if not path.exists():
        return False
    remedy = f"Delete {path} to begin anew"
    try:
        file = read_model(path, f"{kind}-training")
    except ModelFileError as problem:
        raise ModelFileError(f"The unfinished training cannot go on: {problem} {remedy}.") from problem
    if file.about.get("fingerprint") != print_of_it:
        raise ModelFileError(
            f"{path} is an unfinished training on other run times or with other settings. {remedy}, or give the "
            "source, --rounds and --seed that it was begun with."
        )
    arrays = dict(file.arrays)
    if file.about.get("checksum") != _checksum(arrays):
        raise ModelFileError(f"{path} is damaged: its numbers are not those that were written. {remedy}.")
    training.restore(arrays)
    return True


def _checksum(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        # Take the original shape: `ascontiguousarray` turns a scalar into an array of shape (1,).
        digest.update(f"{name} {arrays[name].shape} {array.dtype.str} ".encode() + array.tobytes())
    return digest.hexdigest()
