"""The parts of the data that workers draw from: all data, or mostly a part of each worker's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.learning import draws
from tailcut.learning.tasks.checks import between, require, whole
from tailcut.types import IntArray

WHICH, OWN = 1, 2
"""Last whole number of a sample's place, for independent numbers there; tasks that need more begin at 3."""


@final
@dataclass(frozen=True, slots=True)
class Shares:
    """The rule by which workers draw samples from the data, always with replacement.

    Attributes:
        skew: expected share of a worker's samples that come from its own part; the others come from all data.
        of: number of parts, usually the number of workers; worker w has part w mod `of`. With the data sorted
            by label a part holds few labels.

    Example:
        >>> bool((Shares(1.0, of=4).drawn(100, np.array([3]), np.array([0]), 5, seed=0) >= 75).all())
        True
    """

    skew: float = 0.0
    of: int = 1

    def __post_init__(self) -> None:
        between("skew", self.skew, 0.0, 1.0)
        whole("of", self.of)
        remedy = "write of=158, the number of workers the data is split over"
        require(self.skew == 0 or self.of > 1, "skew above 0 needs of > 1", f"of={self.of}", remedy)

    def drawn(self, samples: int, workers: IntArray, numbers: IntArray, size: int, seed: int) -> IntArray:
        """Return `(k, size)` indices below `samples` for mini-batches `numbers` of `workers`, both `(k,)`."""
        place = (workers[:, None], numbers[:, None], np.arange(size))
        if self.skew == 0:
            return draws.below(samples, seed, *place, WHICH)
        part = workers[:, None] % self.of
        low, high = part * samples // self.of, (part + 1) * samples // self.of
        own = draws.uniform(seed, *place, OWN) < self.skew
        first, count = np.where(own, low, 0), np.where(own, high - low, samples)
        return first + draws.below(count, seed, *place, WHICH)

    def refuse_more_parts_than(self, samples: int) -> None:
        """Raise a `ParameterError` if some part would be empty."""
        rule = f"of must be at most the {samples} samples there are"
        require(self.of <= samples, rule, self.of, "lower it")
