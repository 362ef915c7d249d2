"""The state of a shard at one version, and its joining to a whole: checkpoints do not depend on shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from tailcut.engines.servers.slices import Slices

Vector: TypeAlias = NDArray[Any]
Arrays: TypeAlias = dict[str, NDArray[Any]]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A part of the parameters, with its optimizer state.

    Attributes:
        version: version of the parameters.
        vector: `(numbers,)` the parameters.
        state: optimizer state by name: arrays `(numbers,)`, or scalars.
    """

    version: int
    vector: Vector
    state: Arrays


def joined(pieces: Sequence[Piece]) -> Piece:
    """Return all pieces of one version joined to one.

    Example:
        >>> pieces = [Piece(3, np.ones(2), {"step": np.array(3.0), "sum": np.zeros(2)}) for _ in range(2)]
        >>> whole = joined(pieces)
        >>> whole.vector.size, whole.state["step"], whole.state["sum"].size
        (4, array(3.), 4)
    """
    (version,) = {piece.version for piece in pieces}
    state = {
        key: np.concatenate([piece.state[key] for piece in pieces]) if value.ndim else value
        for key, value in pieces[0].state.items()
    }
    return Piece(version, np.concatenate([piece.vector for piece in pieces]), state)


def divided(whole: Piece, slices: Slices) -> list[Piece]:
    """Return the whole divided into one piece for each slice, the inverse of `joined`."""
    return [
        Piece(
            whole.version,
            whole.vector[piece],
            {key: value[piece] if value.ndim else value for key, value in whole.state.items()},
        )
        for piece in slices.all
    ]
