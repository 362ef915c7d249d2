"""Memory that the workers of one machine share: each has its vector there, and room for sums.

It has no name in any file system, so none of it outlives its processes. Others open it by way of the process
that made it, which the system allows to the same user, and to root.
"""

from __future__ import annotations

import mmap
import os
import secrets
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias, final

import numpy as np
import torch
from torch import Tensor

Key: TypeAlias = tuple[int, int, int]
"""Key of a memory: process id, file descriptor in that process, and a random number."""
NOWHERE: Key = (0, 0, 0)
"""Key of a memory that is not shared."""
MOST_SHARERS = 64
"""Most workers that may reduce through their memories."""
WRITTEN = 0
"""Value of `Memory.holds` while the vector is written."""
_HEAD = mmap.PAGESIZE
_NAME = "tailcut"
_KEY, _HOLDS, _GIVEN = range(3)


@final
class Memory:
    """The memory of one worker, as it or another one of the same machine sees it.

    Args:
        key: key of the memory.
        length: number of elements of the vector.
        dtype: type of the vector.
        descriptor: file descriptor to map.

    Attributes:
        key: key of the memory.
        source: `(length,)`, the vector that its worker brings.
    """

    def __init__(self, key: Key, length: int, dtype: torch.dtype, descriptor: int) -> None:
        self.key = key
        room = _room(length)
        whole = mmap.mmap(descriptor, _size(length, dtype))
        self._head = np.frombuffer(whole, np.int64, 3)
        self.source = torch.frombuffer(whole, dtype=dtype, count=length, offset=_HEAD)
        self._sums = torch.frombuffer(whole, dtype=dtype, count=room, offset=_HEAD + length * dtype.itemsize)

    @classmethod
    def made(cls, length: int, dtype: torch.dtype) -> Memory | None:
        """Return new memory of this worker; None where the system has no such thing, or gives none."""
        if sys.platform != "linux":
            return None
        with suppress(OSError):
            file = open(os.memfd_create(_NAME), "r+b", buffering=0)  # noqa: PTH123, SIM115
            file.truncate(_size(length, dtype))
            key = (os.getpid(), file.fileno(), secrets.randbits(62) + 1)
            own = cls(key, length, dtype, file.fileno())
            own._head[_KEY] = key[-1]
            # The file stays open, for others to map, as long as this object lives.
            weakref.finalize(own, file.close)
            return own
        return None

    @classmethod
    def of(cls, key: Key, length: int, dtype: torch.dtype) -> Memory | None:
        """Return another worker's memory; None where that worker is gone, or this process has no access."""
        path = f"/proc/{key[0]}/fd/{key[1]}"
        with suppress(OSError):
            # In another process namespace the same numbers may stand for something else.
            if not str(Path(path).readlink()).startswith(f"/memfd:{_NAME}"):
                return None
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                if os.fstat(descriptor).st_size == _size(length, dtype):
                    found = cls(key, length, dtype, descriptor)
                    return found if found._head[_KEY] == key[-1] else None
            finally:
                os.close(descriptor)
        return None

    def pin(self, device: torch.device) -> None:
        """Pin the vector, so that a GPU copies from and to it directly. If that fails, copies are slower."""
        with torch.cuda.device(device):
            runtime, place = torch.cuda.cudart(), self.source.data_ptr()  # type: ignore[no-untyped-call]
            size = self.source.numel() * self.source.itemsize
            if int(runtime.cudaHostRegister(place, size, 0)) == 0:
                # It is unpinned before anything else can be put at this address.
                weakref.finalize(self, runtime.cudaHostUnregister, place)
                return
            # Clear the error: otherwise the next operation on the device would raise it.
            with suppress(RuntimeError):
                torch.zeros(1, device=device)
                torch.cuda.synchronize(device)

    @property
    def holds(self) -> int:
        """Return the number that stands for the round of `source`; `WRITTEN` while it is written."""
        return int(self._head[_HOLDS])

    @holds.setter
    def holds(self, what: int) -> None:
        self._head[_HOLDS] = what

    def room(self, length: int) -> tuple[int, Tensor]:
        """Return room for sums, in place of the oldest: its position, and the vector to write to.

        A worker that reads the oldest sums meanwhile can tell by `has` that they were overwritten.
        """
        all_room, begin = len(self._sums), int(self._head[_GIVEN])
        if begin % all_room + length > all_room:
            begin += all_room - begin % all_room
        self._head[_GIVEN] = begin + length
        return begin, self.at(begin, length)

    def at(self, position: int, length: int) -> Tensor:
        """Return the sums at a position."""
        begin = position % len(self._sums)
        return self._sums[begin : begin + length]

    def has(self, position: int) -> bool:
        """Return whether the sums at a position have not been overwritten until now."""
        return int(self._head[_GIVEN]) <= position + len(self._sums)


def _size(length: int, dtype: torch.dtype) -> int:
    """Return the bytes of a memory for a vector of so many elements."""
    return _HEAD + (length + _room(length)) * dtype.itemsize


def _room(length: int) -> int:
    """Return the elements kept for sums: of four rounds with 2 workers, of more rounds with more workers."""
    return 2 * length + MOST_SHARERS
