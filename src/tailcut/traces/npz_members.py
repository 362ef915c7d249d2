"""The arrays of an npz file; each header is checked before memory is allocated for its array."""

from __future__ import annotations

import math
import struct
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tailcut.errors import TableError
from tailcut.traces.limits import MAX_ARRAY_BYTES

_MAX_HEADER_BYTES = 10_000

_MAX_DEFLATE_RATIO = 1_040
"""Largest credible compression ratio of an entry; Deflate cannot reach more than 1032."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header of an array.

    Attributes:
        shape: shape of the array.
        dtype: type of its entries; `Members.header` refuses objects.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Members:
    """The arrays of an open npz file, by name."""

    def __init__(self, archive: zipfile.ZipFile, source: str) -> None:
        self._archive = archive
        self._source = source
        self.names = [entry.filename.removesuffix(".npy") for entry in archive.infolist()]

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def header(self, name: str) -> Header:
        """Return the header of an array, after checking it against the array's real size."""
        self._refuse_repeated(name)
        entry = self._entry(name)
        self._refuse_size(name, entry)
        with self._reading(name), self._archive.open(entry) as file:
            header = _read_header(file)
            held = entry.file_size - file.tell()
        self._refuse_claim(name, header, held)
        return header

    def load(self, name: str) -> NDArray[Any]:
        """Load an array; call `header` first, whose checks make this safe."""
        with self._reading(name), self._archive.open(self._entry(name)) as file:
            array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
            file.read()  # Read to the end, where zipfile verifies the checksum.
            return array

    def _entry(self, name: str) -> zipfile.ZipInfo:
        return next(e for e in self._archive.infolist() if e.filename.removesuffix(".npy") == name)

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            with quiet():
                yield
        except TableError:
            raise
        except Exception as error:
            # zipfile, zlib, tokenize and NumPy raise many kinds of errors on truncated or altered files.
            raise TableError(
                self._source,
                "the array is damaged",
                remedy="write or copy the file again",
                column=name,
            ) from error

    def _refuse_repeated(self, name: str) -> None:
        if self.names.count(name) > 1:
            problem = f"the array is there {self.names.count(name)} times"
            raise TableError(self._source, problem, remedy="write the file again", column=name)

    def _refuse_size(self, name: str, entry: zipfile.ZipInfo) -> None:
        if entry.file_size > MAX_ARRAY_BYTES:
            raise TableError(
                self._source,
                f"an array must not be larger than {MAX_ARRAY_BYTES:,} bytes, and this one has "
                f"{entry.file_size:,}",
                remedy="split the file by rounds or workers",
                column=name,
            )
        if entry.file_size > entry.compress_size * _MAX_DEFLATE_RATIO:
            raise self._false_claim(name, entry.file_size, entry.compress_size)

    def _refuse_claim(self, name: str, header: Header, held: int) -> None:
        if header.dtype.hasobject:
            raise TableError(
                self._source,
                "the array must not hold Python objects, which could run code when read",
                remedy="save plain numbers, text or booleans",
                column=name,
                value=header.dtype,
            )
        claimed = math.prod(header.shape) * header.dtype.itemsize
        if claimed != held:
            raise self._false_claim(name, claimed, held)

    def _false_claim(self, name: str, claimed: int, held: int) -> TableError:
        return TableError(
            self._source,
            f"the array claims {claimed:,} bytes and the file holds {held:,}",
            remedy="write or copy the file again",
            column=name,
        )


@contextmanager
def opened(file: IO[bytes], source: str) -> Iterator[Members]:
    """Open the arrays of the npz file that is open as `file`."""
    try:
        archive = zipfile.ZipFile(file)
    except Exception as error:
        raise TableError(
            source,
            "this is not a complete npz file",
            remedy="write or copy it again with numpy.savez, or give it the ending of its real format",
        ) from error
    with archive:
        yield Members(archive, source)


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings: defects raise errors, and warnings about old but valid headers are of no use."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _read_header(file: IO[bytes]) -> Header:
    """Parse the start of a .npy file without reading on."""
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"unknown .npy version {version}")
    # A header's own length could claim gigabytes, so it is bounded before NumPy reads that much.
    start = file.tell()
    layout = "<H" if version == (1, 0) else "<I"
    (length,) = struct.unpack(layout, file.read(struct.calcsize(layout)))
    if length > _MAX_HEADER_BYTES:
        raise ValueError(f"a .npy header of {length} bytes")
    file.seek(start)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    if any(not isinstance(size, int) or size < 0 for size in shape):
        raise ValueError(f"impossible shape {shape}")
    return Header(tuple(shape), dtype)
