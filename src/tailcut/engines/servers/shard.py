"""One shard of the parameters with its optimizer: updates in order, each once. No Ray, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import final

import numpy as np
import torch

from tailcut.engines.live import points
from tailcut.engines.servers.orders import Answer, Order
from tailcut.engines.servers.pieces import Piece, Vector
from tailcut.engines.servers.sums import Sums
from tailcut.learning.optimisers import optimiser
from tailcut.learning.saving import optimiser_arrays, put_optimiser_arrays
from tailcut.types import BoolArray


@final
class Shard:
    """One shard of the parameters, with its optimizer.

    Until it is given a piece it refuses every order: a restarted shard must not answer with initial weights.

    Args:
        number: index of the shard.
        optimiser_name: name of its optimizer.
        telling: `(numbers,)` whether each of its numbers is used to estimate the gradient noise scale.
    """

    def __init__(self, number: int, optimiser_name: str, telling: BoolArray) -> None:
        self.number = number
        self._name, self._telling = optimiser_name, telling
        self._all_tell = bool(telling.all())
        self._vector: torch.Tensor | None = None
        self._last: tuple[Order, Answer] | None = None
        # The current piece, and the one before the last update. Returned pieces are never changed.
        self._now: Piece | None = None
        self._before: Piece | None = None
        self._mean: tuple[str, Vector, Answer] | None = None
        self._sums = Sums()

    def give(self, piece: Piece) -> Answer:
        """Start, or start again, from a piece; the state before is discarded."""
        self._vector = torch.from_numpy(piece.vector.copy())
        self._optimiser = optimiser(self._name, self._vector, 1.0)
        put_optimiser_arrays(self._optimiser, piece.state)
        self._now, self._last, self._before, self._mean = piece, None, None, None
        return Answer(self.number, piece.version)

    def weigh(self, order: Order, gradients: Sequence[Vector]) -> Answer:
        """Return the norms of an update without applying it."""
        refusal = self._refusal(order)
        return refusal if refusal is not None else self._averaged(order, gradients)[1]

    def apply(self, order: Order, gradients: Sequence[Vector]) -> Answer:
        """Apply an update that follows the current version, once; refuse one that does not follow it."""
        if self._last is not None and self._last[0].id == order.id:
            return self._last[1]
        refusal = self._refusal(order)
        if refusal is not None:
            return refusal
        assert self._vector is not None
        self._before = self._now
        answer = Answer(self.number, order.base + 1)
        if gradients:
            mean, found = self._averaged(order, gradients)
            self._mean = None
            if order.scale != 1.0:
                mean *= mean.dtype.type(order.scale)
            self._vector.grad = torch.from_numpy(mean)
            for group in self._optimiser.param_groups:
                group["lr"] = order.rate
            self._optimiser.step()
            points.at("stepped", order.base)
            answer = replace(found, version=order.base + 1)
        self._now = Piece(order.base + 1, self._vector.numpy().copy(), optimiser_arrays(self._optimiser))
        self._last = order, answer
        return answer

    def go_back(self, version: int) -> Answer:
        """Undo the last update if it followed `version`; refuse if the shard then has another version."""
        if self._before is not None and self._before.version == version and self._version == version + 1:
            return self.give(self._before)
        here = "" if self._version == version else f"it has version {self._version}, not {version}"
        return Answer(self.number, self._version, here)

    def piece(self) -> Piece:
        """Return the current piece."""
        assert self._now is not None
        return self._now

    @property
    def _version(self) -> int | None:
        """The current version; None until the shard was given a piece."""
        return None if self._now is None else self._now.version

    def _refusal(self, order: Order) -> Answer | None:
        if self._version is None:
            return Answer(self.number, None, "it was restarted and has no parameters yet")
        if self._version != order.base:
            return Answer(self.number, self._version, f"it has version {self._version}, not {order.base}")
        return None

    def _averaged(self, order: Order, gradients: Sequence[Vector]) -> tuple[Vector, Answer]:
        """Return the mean gradient and its norms, cached in case the update was weighed first."""
        if self._mean is not None and self._mean[0] == order.id:
            return self._mean[1:]
        sums = self._sums.of([[(order.weights[k], gradients[k]) for k in group] for group in order.groups])
        small = tuple(
            self._squared(total) / samples**2
            for total, samples in zip(sums, order.group_samples, strict=True)
        )
        mean, *others = sums
        for total in others:
            mean += total
        mean /= np.asarray(order.divisor, dtype=mean.dtype)
        norm = float(np.dot(mean, mean))
        answer = Answer(self.number, self._version, "", self._squared(mean), small, norm)
        self._mean = order.id, mean, answer
        return mean, answer

    def _squared(self, vector: Vector) -> float:
        told = vector if self._all_tell else vector[self._telling]
        return float(np.dot(told, told))
