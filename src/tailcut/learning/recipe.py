"""The recipe by which gradients become updates: plain data, the same for every engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tailcut.errors import ParameterError, UnknownNameError
from tailcut.learning.optimisers import OPTIMISERS
from tailcut.learning.rates import RATES, Gradual, Linear, RateRule

MOST_RATE = 1e30
"""Largest learning rate; larger ones overflow single precision."""
Stale = Literal["plain", "inverse"]
DivideBy = Literal["samples", "workers", "world"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings that turn accepted gradients into a step.

    Attributes:
        rate: base learning rate.
        rule: learning-rate rule, by the samples in an update.
        optimiser: `sgd`, `momentum`, `adam` or `rmsprop`.
        clip: largest norm of the mean gradient, after the mean; None for no limit.
        stale: weight of a gradient τ > 0 rounds old: 1, or 1/τ (SoftSync, 1511.05950).
        divide_by: the mean is over accepted samples, over accepted workers (each mini-batch counts the same,
            whole or not), or over all workers (absent ones count as zero, as in eager-SGD).
        average: decay, per full update, of the average of the weights that is evaluated; 0 evaluates the
            weights themselves.

    Example:
        >>> recipe = Recipe(rate=0.5, rule=Linear())
    """

    rate: float
    rule: RateRule = field(default_factory=Linear)
    optimiser: str = "sgd"
    clip: float | None = None
    stale: Stale = "plain"
    divide_by: DivideBy = "samples"
    average: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.rate <= MOST_RATE:
            raise ParameterError(
                f"The learning rate must be positive and at most {MOST_RATE:g}, but got {self.rate}. Try 0.1."
            )
        if self.optimiser not in OPTIMISERS:
            raise UnknownNameError("optimiser", self.optimiser, OPTIMISERS)
        if self.clip is not None and not self.clip > 0.0:
            raise ParameterError(f"clip must be positive, but got {self.clip}. Leave it out for no limit.")
        if self.stale not in ("plain", "inverse"):
            raise UnknownNameError("weight of stale gradients", self.stale, ("plain", "inverse"))
        if self.divide_by not in ("samples", "workers", "world"):
            raise UnknownNameError("divisor", self.divide_by, ("samples", "workers", "world"))
        if not 0.0 <= self.average < 1.0:
            raise ParameterError(
                f"average must be in [0, 1), but got {self.average}. Try 0.99, or 0 for none."
            )

    def weight(self, staleness: int) -> float:
        """Return the weight of a gradient that is this many rounds old."""
        return 1.0 / staleness if self.stale == "inverse" and staleness > 1 else 1.0


def rule_of(name: str, warm_up: int = 0) -> RateRule:
    """Return the learning-rate rule of a name, with a warm-up over the first `warm_up` updates.

    Raises:
        UnknownNameError: there is no rule of that name.
    """
    if name not in RATES:
        raise UnknownNameError("learning-rate rule", name, RATES)
    if warm_up < 0:
        raise ParameterError(f"warm_up must be 0 or more updates, but got {warm_up}. Give 0 for none.")
    return Gradual(RATES[name], warm_up) if warm_up else RATES[name]
