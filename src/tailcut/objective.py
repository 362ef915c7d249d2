"""What gradients are worth: the objective that rules divide by time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from tailcut.types import FloatArray


class Objective(ABC):
    """A non-decreasing value of the number of gradients in a round.

    Only differences and ratios of values matter, so the unit is free. A rule that decides during the round needs
    the expected value when the count is uncertain, given its mean and variance.
    """

    @abstractmethod
    def value(self, counts: FloatArray) -> FloatArray:
        """From numbers of gradients to their values, of the same shape; none are worth 0."""

    @abstractmethod
    def expected(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """E[value(N)] for a count N with the given mean and variance."""

    @property
    @abstractmethod
    def needs_variance(self) -> bool:
        """Whether `expected` looks at the variance; if not, rules need not work it out."""


@final
@dataclass(frozen=True, slots=True)
class Count(Objective):
    """Every gradient is worth the same: value(c) = c, throughput is what counts."""

    def value(self, counts: FloatArray) -> FloatArray:
        """The count itself."""
        return counts

    def expected(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """The mean: expectation is linear."""
        del variance
        return mean

    @property
    def needs_variance(self) -> bool:
        """Never."""
        return False
