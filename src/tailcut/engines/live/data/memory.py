"""Memory that the workers of one machine see of each other: a worker's vector, and room for what it adds up for all.

It has no name in any file system, so nothing of it stays behind whoever dies. Others open it by way of the process that
made it, which the system allows to the same user, and to root.
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
"""Of a memory: process, descriptor there, and a number of chance."""
NOWHERE: Key = (0, 0, 0)
"""Of one that is not shared."""
MOST_SHARERS = 64
"""Workers that may add up through their memories."""
WRITTEN = 0
"""What a vector is for while it is written."""
_HEAD = mmap.PAGESIZE
_NAME = "tailcut"
_KEY, _HOLDS, _GIVEN = range(3)


@final
class Memory:
    """Of one worker, as it or another of the same machine sees it.

    Args:
        key: of it.
        length: numbers of the vector.
        dtype: of them.
        descriptor: to map.

    Attributes:
        key: of it.
        source: `(length,)`, what its worker brings.
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
        """This worker's own; None where the system has no such thing, or gives none."""
        if sys.platform != "linux":
            return None
        with suppress(OSError):
            file = open(os.memfd_create(_NAME), "r+b", buffering=0)  # noqa: PTH123, SIM115
            file.truncate(_size(length, dtype))
            key = (os.getpid(), file.fileno(), secrets.randbits(62) + 1)
            own = cls(key, length, dtype, file.fileno())
            own._head[_KEY] = key[-1]
            # Open as long as there is anybody to look into it.
            weakref.finalize(own, file.close)
            return own
        return None

    @classmethod
    def of(cls, key: Key, length: int, dtype: torch.dtype) -> Memory | None:
        """Another worker's; None where it cannot be reached: it is gone, or this process may not look."""
        path = f"/proc/{key[0]}/fd/{key[1]}"
        with suppress(OSError):
            # Where processes are counted anew, the same numbers may stand for something else.
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
        """Let a GPU copy from and to the vector without a detour. Where that cannot be, copies are slower."""
        with torch.cuda.device(device):
            runtime, place = torch.cuda.cudart(), self.source.data_ptr()  # type: ignore[no-untyped-call]
            size = self.source.numel() * self.source.itemsize
            if int(runtime.cudaHostRegister(place, size, 0)) == 0:
                # Before anything else can be put there.
                weakref.finalize(self, runtime.cudaHostUnregister, place)
                return
            # Otherwise whatever is done next on the device would be told of it.
            with suppress(RuntimeError):
                torch.zeros(1, device=device)
                torch.cuda.synchronize(device)

    @property
    def holds(self) -> int:
        """What `source` is for: a number for the round; `WRITTEN` while it is written."""
        return int(self._head[_HOLDS])

    @holds.setter
    def holds(self, what: int) -> None:
        self._head[_HOLDS] = what

    def room(self, length: int) -> tuple[int, Tensor]:
        """Room for sums, in place of the oldest: where it is, and what to write to.

        Whoever reads the oldest meanwhile can see that it does, by `has`.
        """
        all_room, begin = len(self._sums), int(self._head[_GIVEN])
        if begin % all_room + length > all_room:
            begin += all_room - begin % all_room
        self._head[_GIVEN] = begin + length
        return begin, self.at(begin, length)

    def at(self, position: int, length: int) -> Tensor:
        """Sums that were put there."""
        begin = position % len(self._sums)
        return self._sums[begin : begin + length]

    def has(self, position: int) -> bool:
        """Whether the sums that were put there have not been written over until now."""
        return int(self._head[_GIVEN]) <= position + len(self._sums)


def _size(length: int, dtype: torch.dtype) -> int:
    """Bytes of a memory."""
    return _HEAD + (length + _room(length)) * dtype.itemsize


def _room(length: int) -> int:
    """Numbers for sums: of four rounds, of more where more share the work. Who is slow has that long to read."""
    return 2 * length + MOST_SHARERS
