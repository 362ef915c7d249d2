"""Learning-rate rules: how large a step an update makes, given how much went into it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from tailcut.errors import ParameterError

MOST_NOISE = 4.0
"""Largest noise scale that a rate follows, in full updates: larger ones cannot be told from sampling noise."""


@dataclass(frozen=True, slots=True)
class Behind:
    """What stands behind an update.

    Attributes:
        number: of the update, from 0.
        samples: that went into it.
        full: samples there would be if every worker took part.
        noise: gradient noise scale in samples, from earlier updates; None while unknown.
    """

    number: int
    samples: int
    full: int
    noise: float | None


class RateRule(ABC):
    """From a base rate and what stands behind an update to the rate of that update."""

    @abstractmethod
    def rate(self, base: float, behind: Behind) -> float:
        """The learning rate."""


@final
@dataclass(frozen=True, slots=True)
class Fixed(RateRule):
    """Always the base rate."""

    def rate(self, base: float, behind: Behind) -> float:
        """The base rate."""
        del behind
        return base


@final
@dataclass(frozen=True, slots=True)
class Linear(RateRule):
    """In proportion to the accepted share (Goyal et al. 2017): goes with the objective `Count`."""

    def rate(self, base: float, behind: Behind) -> float:
        """Base · samples / full."""
        return base * behind.samples / behind.full


@final
@dataclass(frozen=True, slots=True)
class SquareRoot(RateRule):
    """With the root of the accepted share."""

    def rate(self, base: float, behind: Behind) -> float:
        """Base · √(samples / full)."""
        return float(base * (behind.samples / behind.full) ** 0.5)


@final
@dataclass(frozen=True, slots=True)
class Noisy(RateRule):
    """η_max / (1 + B / samples), the best step at noise scale B: goes with the objective `Gain`.

    While B is unknown it counts as the samples of a full update: half of the base rate at most. Where no gradient can
    be told from the noise B is infinite; steps then become small, not nothing.
    """

    def rate(self, base: float, behind: Behind) -> float:
        """The step that falls most, in expectation."""
        noise = float(behind.full) if behind.noise is None else min(behind.noise, MOST_NOISE * behind.full)
        return base / (1.0 + noise / behind.samples)


@final
@dataclass(frozen=True, slots=True)
class Gradual(RateRule):
    """Another rule, grown into over the first updates.

    Attributes:
        inner: the rule.
        updates: after which it is fully in force.
    """

    inner: RateRule
    updates: int

    def __post_init__(self) -> None:
        if self.updates < 1:
            raise ParameterError(
                f"A warm-up must last at least 1 update, but got {self.updates}. Leave it out for none."
            )

    def rate(self, base: float, behind: Behind) -> float:
        """A growing share of the inner rule's."""
        return self.inner.rate(base, behind) * min(1.0, (behind.number + 1) / self.updates)


RATES: dict[str, RateRule] = {
    "fixed": Fixed(),
    "linear": Linear(),
    "sqrt": SquareRoot(),
    "gain": Noisy(),
}
"""Rules by name."""


def refuse_mismatch(objective: str, rate: str) -> None:
    """Objectives go with their own rules: say so where they do not.

    Raises:
        ParameterError: the gain of the loss with the linear rule, which takes steps the gain was not reckoned with.
    """
    if objective == "gain" and rate in ("linear", "sqrt"):
        raise ParameterError(
            f"objective=gain does not go with the learning-rate rule {rate!r}: few gradients would also make "
            'small steps, and such runs were several times slower than a fixed cutoff. Use rate = "gain".'
        )
