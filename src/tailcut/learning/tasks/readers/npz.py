"""Arrays of an npz file by name, without pickled objects; headers are checked before memory is allocated."""

from __future__ import annotations

import math
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from tailcut.bounded_files import open_file
from tailcut.errors import InputError
from tailcut.learning.tasks.readers.files import MAX_BYTES, wrong

_AGAIN = "write or copy the file again"


def array_names(path: Path) -> set[str]:
    """Return the names of the arrays in a file."""
    with _opened(path) as archive:
        return {entry.filename.removesuffix(".npy") for entry in archive.infolist()}


def read_arrays(path: Path, wanted: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Read the arrays in `wanted`, each of one of its kinds (`u`, `i`, `b`, `f`, `U`: NumPy's dtype.kind)."""
    with _opened(path) as archive:
        return {name: _array(path, archive, name, kinds) for name, kinds in wanted.items()}


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        file = open_file(path)
    except OSError as error:
        raise wrong(path, f"cannot be read ({error.strerror or error})", "name a readable file") from error
    with file:
        try:
            archive = zipfile.ZipFile(file)
        except Exception as error:  # zipfile raises half a dozen kinds on what was cut or altered.
            raise wrong(path, "is not a complete npz file", _AGAIN) from error
        with archive:
            yield archive


def _array(path: Path, archive: zipfile.ZipFile, name: str, kinds: str) -> NDArray[Any]:
    try:
        entry = archive.getinfo(f"{name}.npy")
    except KeyError as error:
        held = ", ".join(sorted(e.filename.removesuffix(".npy") for e in archive.infolist()))
        raise wrong(
            path, f"there is no array {name!r}, only {held or 'nothing'}", f"save {name} too"
        ) from error
    if entry.file_size > MAX_BYTES:
        problem = f"the array {name!r} has {entry.file_size:,} bytes, more than the {MAX_BYTES:,} allowed"
        raise wrong(path, problem, "name a smaller file")
    try:
        with warnings.catch_warnings(), archive.open(entry) as file:
            warnings.simplefilter("ignore")
            _check_header(path, file, name, kinds, entry.file_size)
        with archive.open(entry) as file:
            array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
            file.read()  # Read to the end, where zipfile verifies the checksum.
            return array
    except InputError:
        raise
    except (
        Exception
    ) as error:  # zipfile, zlib, tokenize and NumPy have a dozen kinds for what was cut or altered.
        raise wrong(path, f"the array {name!r} is damaged", _AGAIN) from error


def _check_header(path: Path, file: IO[bytes], name: str, kinds: str, size: int) -> None:
    """Raise unless the array has a wanted type and the size that its header claims."""
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject or dtype.kind not in kinds:
        words = {"u": "bytes", "i": "whole numbers", "b": "true and false", "f": "numbers", "U": "text"}
        wanted = " or ".join(words[kind] for kind in kinds)
        raise wrong(path, f"the array {name!r} must hold {wanted}, but its type is {dtype}", "convert it")
    claimed, held = math.prod(shape) * dtype.itemsize, size - file.tell()
    if claimed != held:
        problem = f"the array {name!r} claims {claimed:,} bytes, the file holds {held:,}"
        raise wrong(path, problem, _AGAIN)
