"""The groups in which gradients of an update are summed, and measurements of their variance. No tensors.

Fresh gradients are summed in two halves, and stale ones apart from them. The halves cost as much as one sum,
and their difference shows how noisy a gradient is (`Measured`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailcut.learning.recipe import Recipe
from tailcut.types import Measured


@dataclass(frozen=True, slots=True)
class Parts:
    """The gradients of an update, by their places in the order of arrival.

    Attributes:
        groups: places that are summed together, none empty; fresh ones first.
        taken: `(gradients,)` number of samples of each gradient.
        weights: `(gradients,)` factor of each mean gradient: its samples times the weight of its age.
        divisor: number by which the sum of all is divided to give the mean.
    """

    groups: tuple[tuple[int, ...], ...]
    taken: tuple[int, ...]
    weights: tuple[float, ...]
    divisor: float

    @property
    def samples(self) -> int:
        """The number of samples in the whole update."""
        return sum(self.taken)

    @property
    def group_samples(self) -> list[int]:
        """The number of samples in each group."""
        return [sum(self.taken[k] for k in group) for group in self.groups]


def parts_of(ages: Sequence[int], taken: Sequence[int], recipe: Recipe, batch: int, full: int) -> Parts:
    """Group the gradients of an update for their sum.

    Args:
        ages: rounds between each gradient's version and the update's.
        taken: number of samples of each gradient.
        recipe: how gradients become updates.
        batch: samples in a whole mini-batch.
        full: samples of an update in which every worker takes part.

    Example:
        >>> parts = parts_of([0, 0, 2, 0], [8, 8, 8, 4], Recipe(0.1, stale="inverse"), batch=8, full=32)
        >>> parts.groups, parts.weights, parts.divisor
        (((0, 3), (1,), (2,)), (8.0, 8.0, 4.0, 4.0), 28)
    """
    fresh = [k for k, age in enumerate(ages) if age == 0]
    stale = [k for k, age in enumerate(ages) if age != 0]
    groups = tuple(tuple(group) for group in (fresh[::2], fresh[1::2], stale) if group)
    weights = tuple(count * recipe.weight(age) for count, age in zip(taken, ages, strict=True))
    divisor = {"workers": len(ages) * batch, "world": full, "samples": sum(taken)}[recipe.divide_by]
    return Parts(groups, tuple(taken), weights, divisor)


def measured_of(
    parts: Parts, recipe: Recipe, batch: int, loss: float, big: float, small: Sequence[float], rate: float
) -> Measured:
    """Return the measurements of an update's gradients.

    Args:
        parts: the groups in which they were summed.
        recipe: how gradients become updates.
        batch: samples in a whole mini-batch.
        loss: mean loss over the samples.
        big: squared norm of the mean of all gradients.
        small: `(groups,)` squared norm of each group's own mean.
        rate: learning rate that the update was applied with.
    """
    samples = parts.samples
    if len(parts.groups) < 2 or recipe.divide_by != "samples":
        return Measured(loss, samples, batch, big, big, float(samples), rate)
    # Halves of unequal size: S enters with the mean of 1 / samples.
    inverse = sum(1.0 / each for each in parts.group_samples) / len(parts.groups)
    return Measured(loss, samples, batch, big, sum(small) / len(small), 1.0 / inverse, rate)
