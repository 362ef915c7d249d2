"""Weighted sums of gradients in reused buffers: fresh memory costs more than the additions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from tailcut.engines.servers.pieces import Vector


@final
class Sums:
    """Weighted sums of the gradients of one shard, in buffers that are reused.

    Example:
        >>> sums = Sums()
        >>> first, second = sums.of([[(2.0, np.ones(2)), (1.0, np.ones(2))], [(4.0, np.ones(2))]])
        >>> first, second
        (array([3., 3.]), array([4., 4.]))
    """

    def __init__(self) -> None:
        self._rooms: list[Vector] = []

    def of(self, groups: Sequence[Sequence[tuple[float, Vector]]]) -> list[Vector]:
        """Return the sum of each group of weights and vectors, in order; valid until the next call.

        The given vectors are not changed.
        """
        like = groups[0][0][1]
        if not self._rooms or self._rooms[0].shape != like.shape or self._rooms[0].dtype != like.dtype:
            self._rooms = []
        while len(self._rooms) <= len(groups):
            self._rooms.append(np.empty_like(like))
        spare, *rooms = self._rooms
        sums = rooms[: len(groups)]
        for total, terms in zip(sums, groups, strict=True):
            (weight, first), *others = terms
            np.multiply(first, first.dtype.type(weight), out=total)
            for weight, vector in others:
                np.multiply(vector, vector.dtype.type(weight), out=spare)
                total += spare
        return sums
