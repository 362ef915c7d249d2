"""Divide the numbers of a net among the server shards. Pure."""

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
    """A vector cut into pieces whose sizes differ by at most one number.

    All numbers have one type, so the pieces' bytes are nearly equal too. A piece may end inside a tensor,
    because optimizers work number by number.

    Attributes:
        size: length of the vector.
        shards: number of pieces.

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
        """The slices of all pieces, in order."""
        each, more = divmod(self.size, self.shards)
        sizes = [each + (shard < more) for shard in range(self.shards)]
        return [slice(start, stop) for start, stop in pairwise(accumulate(sizes, initial=0))]


def mask_of(names: Sequence[str], sizes: Sequence[int], prefix: str) -> BoolArray:
    """Return `(parameters,)` whether each number belongs to a tensor whose name begins with `prefix`.

    Example:
        >>> mask_of(["policy", "value"], [2, 1], "policy")
        array([ True,  True, False])
    """
    chosen = [name.startswith(prefix) for name in names]
    return np.repeat(np.array(chosen, dtype=np.bool_), np.array(sizes, dtype=np.int64))


@final
@dataclass(frozen=True, slots=True)
class Telling:
    """The numbers of a piece that are used to estimate the noise, described in little memory.

    Attributes:
        names, sizes: name and size of every tensor, in order. prefix: prefix of the names of those used.
        piece: slice of the whole vector.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    prefix: str
    piece: slice

    def mask(self) -> BoolArray:
        """Return `(numbers,)` whether each number of the piece is used."""
        return mask_of(self.names, self.sizes, self.prefix)[self.piece]
