"""Learning-rate rules: the step size of an update, given the samples in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from tailcut.errors import ParameterError

MOST_NOISE = 4.0
"""Largest noise scale that a rate follows, in full updates; larger ones do not differ from sampling noise."""


@dataclass(frozen=True, slots=True)
class Behind:
    """The facts about an update that determine its learning rate.

    Attributes:
        number: number of the update, from 0.
        samples: samples that went into it.
        full: samples of an update in which every worker takes part.
        noise: gradient noise scale in samples, from earlier updates; None while unknown.
    """

    number: int
    samples: int
    full: int
    noise: float | None


class RateRule(ABC):
    """A rule that gives the learning rate of an update from a base rate and the facts about the update."""

    @abstractmethod
    def rate(self, base: float, behind: Behind) -> float:
        """The learning rate."""


@final
@dataclass(frozen=True, slots=True)
class Fixed(RateRule):
    """A rule that always gives the base rate."""

    def rate(self, base: float, behind: Behind) -> float:
        """The base rate."""
        del behind
        return base


@final
@dataclass(frozen=True, slots=True)
class Linear(RateRule):
    """A rate in proportion to the accepted share (Goyal et al. 2017), for the objective `Count`."""

    def rate(self, base: float, behind: Behind) -> float:
        """Base · samples / full."""
        return base * behind.samples / behind.full


@final
@dataclass(frozen=True, slots=True)
class SquareRoot(RateRule):
    """A rate in proportion to the square root of the accepted share."""

    def rate(self, base: float, behind: Behind) -> float:
        """Base · √(samples / full)."""
        return float(base * (behind.samples / behind.full) ** 0.5)


@final
@dataclass(frozen=True, slots=True)
class Noisy(RateRule):
    """The rate η_max / (1 + B / samples), the best step at noise scale B, for the objective `Gain`.

    While B is unknown, the samples of a full update stand for it: the rate is at most half of the base rate.
    Where the gradient is lost in the noise, B is infinite; it is limited so that steps are small but not 0.
    """

    def rate(self, base: float, behind: Behind) -> float:
        """The rate with the largest expected fall of the loss."""
        noise = float(behind.full) if behind.noise is None else min(behind.noise, MOST_NOISE * behind.full)
        return base / (1.0 + noise / behind.samples)


@final
@dataclass(frozen=True, slots=True)
class Gradual(RateRule):
    """A warm-up of another rule over the first updates.

    Attributes:
        inner: the rule.
        updates: number of updates after which the rule applies in full.
    """

    inner: RateRule
    updates: int

    def __post_init__(self) -> None:
        if self.updates < 1:
            raise ParameterError(
                f"A warm-up must last at least 1 update, but got {self.updates}. Leave it out for none."
            )

    def rate(self, base: float, behind: Behind) -> float:
        """A growing share of the inner rule's rate."""
        return self.inner.rate(base, behind) * min(1.0, (behind.number + 1) / self.updates)


RATES: dict[str, RateRule] = {
    "fixed": Fixed(),
    "linear": Linear(),
    "sqrt": SquareRoot(),
    "gain": Noisy(),
}
"""Learning-rate rules by name."""


def refuse_mismatch(objective: str, rate: str) -> None:
    """Refuse a learning-rate rule that does not fit the objective.

    Raises:
        ParameterError: the objective is gain and the rule linear or sqrt, which the gain does not assume.
    """
    if objective == "gain" and rate in ("linear", "sqrt"):
        raise ParameterError(
            f"objective=gain does not go with the learning-rate rule {rate!r}: few gradients would also make "
            'small steps, and such runs were several times slower than a fixed cutoff. Use rate = "gain".'
        )
