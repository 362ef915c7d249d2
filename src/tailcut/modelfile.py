"""Files of trained models: named arrays in the safetensors format, checked when read, never pickle.

A model file holds numbers and text, nothing that runs. Its header names the format's version, the kind of model and
what is worth knowing about it (source, rounds, settings).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tailcut.errors import ModelFileError
from tailcut.tensor_file import read_tensors, write_tensors

VERSION = "1"
MAKE = "fit the model again"
_ABOUT = "about."


@dataclass(frozen=True, slots=True, eq=False)
class ModelFile:
    """The contents of a model file.

    Attributes:
        path: path of the file, for messages.
        kind: name of the model that the arrays belong to.
        arrays: arrays by name.
        about: texts about the model, such as source, rounds and settings.
    """

    path: str
    kind: str
    arrays: Mapping[str, NDArray[Any]]
    about: Mapping[str, str]

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike = np.float32) -> NDArray[Any]:
        """Return the array of this name, after checking its shape, its dtype and that all numbers are finite.

        Raises:
            ModelFileError: the array is missing or fails a check.
        """
        if name not in self.arrays:
            self.refuse(f"has no array {name!r}")
        found = self.arrays[name]
        if found.shape != shape:
            self.refuse(f"has an array {name!r} of shape {found.shape} where {shape} is needed")
        if found.dtype != np.dtype(dtype):
            self.refuse(f"has an array {name!r} of {found.dtype} where {np.dtype(dtype)} is needed")
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            self.refuse(f"has numbers in {name!r} that are not finite")
        return found

    def only(self, names: Collection[str]) -> None:
        """Raise a `ModelFileError` if the file holds arrays of other names."""
        extra = sorted(set(self.arrays) - set(names))
        if extra:
            self.refuse(f"has an array {extra[0]!r} that a {self.kind} model does not have")

    def refuse(self, problem: str) -> NoReturn:
        """Raise a `ModelFileError` about this file."""
        raise ModelFileError(f"{self.path} {problem}; {MAKE}.")


def write_model(
    path: str | os.PathLike[str], kind: str, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, str]
) -> None:
    """Write a model; a reader sees the old file or the new one, never half of it.

    Args:
        path: the file to create or replace.
        kind: name of the model that the arrays belong to.
        arrays: arrays by name.
        about: texts about the model, such as source, rounds and settings.

    Raises:
        ModelFileError: the file cannot be written.
    """
    words = {"format": _format(kind), "version": VERSION} | {_ABOUT + k: text for k, text in about.items()}
    try:
        write_tensors(Path(path), arrays, words)
    except ValueError as error:  # InputError is one; a path with a null byte in it is another.
        raise ModelFileError(_sentence(path, error)) from error


def read_model(path: str | os.PathLike[str], kind: str) -> ModelFile:
    """Read a model of this kind.

    Args:
        path: the file.
        kind: value that was given to `write_model`.

    Raises:
        ModelFileError: it is no such file; the message says what is wrong.
    """
    try:
        arrays, words = read_tensors(Path(path), _format(kind), VERSION, MAKE)
    except ValueError as error:
        raise ModelFileError(_sentence(path, error)) from error
    about = {key.removeprefix(_ABOUT): text for key, text in words.items() if key.startswith(_ABOUT)}
    return ModelFile(os.fspath(path), kind, arrays, about)


def _format(kind: str) -> str:
    return f"tailcut {kind} model"


def _sentence(path: str | os.PathLike[str], error: ValueError) -> str:
    said = str(error)
    return said if os.fspath(path) in said else f"{os.fspath(path)!r} is no path to a file: {said}."
