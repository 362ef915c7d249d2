"""Memory for vectors of one kind, reused when nothing refers to them any more.

A fresh vector of 25 M numbers costs as much for the system to provide as several copies of it; updates come and go,
one of each per round, once the log is full.
"""

from __future__ import annotations

import weakref
from typing import Any, final

import torch
from numpy.typing import NDArray
from torch import Tensor

SPARE = 2
"""Most unused vectors that are kept."""


@final
class Pool:
    """A pool that lends vectors. A vector comes back when no tensor, array or memory view refers to it.

    Example:
        >>> pool = Pool(3, torch.float32)
        >>> place = pool.take().data_ptr()
        >>> pool.take().data_ptr() == place
        True
    """

    def __init__(self, length: int, dtype: torch.dtype) -> None:
        self._length, self._dtype = length, dtype
        self._spare: list[NDArray[Any]] = []

    def take(self) -> Tensor:
        """Return a vector with arbitrary values."""
        memory = self._spare.pop() if self._spare else torch.empty(self._length, dtype=self._dtype).numpy()
        # Every view of the tensor refers to this array: when it is deleted, the memory is free.
        lent = memory.view()
        weakref.finalize(lent, _take_back, self._spare, memory).atexit = False
        return torch.from_numpy(lent)


def _take_back(spare: list[NDArray[Any]], memory: NDArray[Any]) -> None:
    if len(spare) < SPARE:
        spare.append(memory)
