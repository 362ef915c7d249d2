"""From accepted gradients to an order for the shards, and from their answers to what the gradients showed. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import final

from tailcut.engines.servers.orders import Answer, Came, Order
from tailcut.learning.parts import Parts, measured_of, parts_of
from tailcut.learning.rates import Behind
from tailcut.learning.recipe import Recipe
from tailcut.noise import Noise, after
from tailcut.types import Measured


@final
class Reckoning:
    """Learning rate, weights and noise, update by update; the same sums as in virtual time.

    Args:
        recipe: how gradients become updates.
        workers: that there are when all take part.
        batch: samples in a mini-batch.

    Attributes:
        noise: what the gradients so far showed.
    """

    def __init__(self, recipe: Recipe, workers: int, batch: int) -> None:
        self.noise = Noise()
        self._recipe, self._batch, self._full = recipe, batch, workers * batch

    @property
    def clips(self) -> bool:
        """Whether updates must be weighed before they are applied."""
        return self._recipe.clip is not None

    def order(self, term: int, version: int, came: Sequence[Came]) -> Order:
        """The update that follows `version`, of gradients in the order of their arrival; of none, a change of version.

        Args:
            term: how often the run went back to a checkpoint before.
            version: of the parameters it is applied to.
            came: what their workers said.
        """
        name = f"{term}.{version}"
        if not came:
            return Order(name, version, 0.0, (), (), (), 1.0)
        parts = self._parts(version, came)
        behind = Behind(version, parts.samples, self._full, self.noise.scale)
        rate = self._recipe.rule.rate(self._recipe.rate, behind)
        groups = tuple(parts.group_samples)
        return Order(name, version, rate, parts.groups, parts.weights, groups, parts.divisor)

    def clipped(self, order: Order, answers: Sequence[Answer]) -> Order:
        """The same, its mean gradient no longer than allowed; `answers` are those of shards that weighed it."""
        assert self._recipe.clip is not None
        norm = math.sqrt(sum(answer.norm for answer in answers))
        return replace(order, scale=min(1.0, self._recipe.clip / max(norm, 1e-300)))

    def made(self, order: Order, came: Sequence[Came], answers: Sequence[Answer]) -> Measured | None:
        """An update was made: what it showed, from now on part of the noise; None for one of no gradients."""
        if not came:
            return None
        parts = self._parts(order.base, came)
        loss = sum(each.loss * each.samples for each in came) / parts.samples
        big = sum(answer.big for answer in answers)
        small = [sum(norms) for norms in zip(*(answer.small for answer in answers), strict=True)]
        measured = measured_of(parts, self._recipe, self._batch, loss, big, small, order.rate)
        self.noise = after(self.noise, measured)
        return measured

    def _parts(self, version: int, came: Sequence[Came]) -> Parts:
        ages = [version - each.job.version for each in came]
        return parts_of(ages, [each.samples for each in came], self._recipe, self._batch, self._full)
