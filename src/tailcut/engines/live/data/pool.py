"""Memory for vectors of one kind, used again when nobody has them any more.

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
"""Vectors kept for the next who asks."""


@final
class Pool:
    """Lends vectors. One comes back by itself when it is gone, and every tensor, array and memory view on it.

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
        """A vector with anything in it."""
        memory = self._spare.pop() if self._spare else torch.empty(self._length, dtype=self._dtype).numpy()
        # An array of its own, held by whatever has to do with the tensor: its end says that the memory is free.
        lent = memory.view()
        weakref.finalize(lent, _take_back, self._spare, memory).atexit = False
        return torch.from_numpy(lent)


def _take_back(spare: list[NDArray[Any]], memory: NDArray[Any]) -> None:
    if len(spare) < SPARE:
        spare.append(memory)
