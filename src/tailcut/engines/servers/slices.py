"""Which numbers of a net each server shard holds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.types import BoolArray


@final
@dataclass(frozen=True, slots=True)
class Slices:
    """A vector cut into pieces of equal size, give or take one number: all are of one type, so bytes are level too.

    Pieces end where they end, in the midst of a tensor or not: optimisers go number by number.

    Attributes:
        size: of the vector.
        shards: pieces.

    Example:
        >>> [(piece.start, piece.stop) for piece in Slices(10, 3).all]
        [(0, 4), (4, 7), (7, 10)]
    """

    size: int
    shards: int

    def __post_init__(self) -> None:
        if not 1 <= self.shards <= self.size:
            raise ParameterError(
                f"A net of {self.size} parameters can be divided over 1 to {self.size} servers, but got {self.shards}. "
                "Try --servers 2."
            )

    @property
    def all(self) -> list[slice]:
        """Every piece, in order."""
        each, more = divmod(self.size, self.shards)
        sizes = [each + (shard < more) for shard in range(self.shards)]
        return [slice(start, stop) for start, stop in pairwise(accumulate(sizes, initial=0))]


def mask_of(names: Sequence[str], sizes: Sequence[int], prefix: str) -> BoolArray:
    """`(parameters,)` which numbers belong to tensors whose names begin so.

    Example:
        >>> mask_of(["policy", "value"], [2, 1], "policy")
        array([ True,  True, False])
    """
    chosen = [name.startswith(prefix) for name in names]
    return np.repeat(np.array(chosen, dtype=np.bool_), np.array(sizes, dtype=np.int64))


@final
@dataclass(frozen=True, slots=True)
class Telling:
    """Which numbers of a piece tell the noise. Short, however many numbers there are.

    Attributes:
        names, sizes: of all tensors, in order. prefix: of the names of those that tell. piece: which of their numbers.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    prefix: str
    piece: slice

    def mask(self) -> BoolArray:
        """`(numbers,)` of the piece."""
        return mask_of(self.names, self.sizes, self.prefix)[self.piece]
