"""Turn accepted gradients into an order for the shards, and the shards' answers into measurements. Pure."""

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
    """Computes learning rate, weights and noise of each update, exactly as training in virtual time does.

    Args:
        recipe: how gradients become updates.
        workers: number of workers when all take part.
        batch: samples in a mini-batch.

    Attributes:
        noise: the estimates of the gradient noise so far.
    """

    def __init__(self, recipe: Recipe, workers: int, batch: int) -> None:
        self.noise = Noise()
        self._recipe, self._batch, self._full = recipe, batch, workers * batch

    @property
    def clips(self) -> bool:
        """Return whether shards must weigh an update before they apply it."""
        return self._recipe.clip is not None

    def order(self, term: int, version: int, came: Sequence[Came]) -> Order:
        """Return the update that follows `version`; without gradients it only changes the version.

        Args:
            term: number of times the run went back to a checkpoint before.
            version: version of the parameters that the update is applied to.
            came: the reports on the gradients, in the order of their arrival.
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
        """Return the order with its mean gradient clipped by the norms in the `answers` of all shards."""
        assert self._recipe.clip is not None
        norm = math.sqrt(sum(answer.norm for answer in answers))
        return replace(order, scale=min(1.0, self._recipe.clip / max(norm, 1e-300)))

    def made(self, order: Order, came: Sequence[Came], answers: Sequence[Answer]) -> Measured | None:
        """Return what an update showed, and add it to the noise; None for one without gradients."""
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
