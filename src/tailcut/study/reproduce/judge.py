"""Judgment of claims seed by seed, and the figure shown for them: mean (worst–best) over the seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

SURE = 2.0 / 3.0
"""Share of the seeds on which one arm has to be better, besides being better on average."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity, with its format and its better direction.

    Attributes:
        unit: unit written after the numbers; empty for none.
        more: whether more is better.
        digits: digits after the point; None for three significant ones.
        never: text for an infinite value.
    """

    unit: str = ""
    more: bool = False
    digits: int | None = None
    never: str = "never"

    def number(self, value: float) -> str:
        """Return a value as text, without the unit.

        Example:
            >>> Measure().number(12.345), Measure(digits=1).number(12.345), Measure().number(float("inf"))
            ('12.3', '12.3', 'never')
        """
        if not math.isfinite(value):
            return self.never
        if self.digits is not None:
            return f"{value:.{self.digits}f}"
        size = math.floor(math.log10(abs(value))) if value else 0
        return f"{value:.{max(0, 2 - size)}f}"

    def told(self, values: Sequence[float]) -> str:
        """Return values as text, mean (worst–best); the mean is of finite values.

        Example:
            >>> Measure("s").told([3.0, 1.0, 2.0])
            '2.00 (3.00–1.00) s'
            >>> Measure("s").told([3.0, 1.0, float("inf")])
            '2.00 (never–1.00) s on 2 of 3 seeds'
        """
        reached = [value for value in values if math.isfinite(value)]
        if not reached:
            return self.never
        worst, best = (min(values), max(values)) if self.more else (max(values), min(values))
        unit = f" {self.unit}" if self.unit else ""
        if len(values) == 1:
            return f"{self.number(values[0])}{unit}"
        some = "" if len(reached) == len(values) else f" on {len(reached)} of {len(values)} seeds"
        return f"{self.number(mean(reached))} ({self.number(worst)}–{self.number(best)}){unit}{some}"

    def better(self, ours: float, theirs: float) -> bool:
        """Return whether `ours` is strictly better."""
        return ours > theirs if self.more else ours < theirs


SECONDS = Measure("s")
ACCURACY = Measure("%", more=True, digits=1)
RATE = Measure("gradients/s", more=True)
SHARE = Measure("", more=True, digits=3)


def mean(values: Sequence[float]) -> float:
    """Return the mean, infinite where one of the values is."""
    return sum(values) / len(values)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict on two arms: the first is better, on average and on most seeds, or not; and the figure."""

    holds: bool
    figure: str


def compared(
    measure: Measure, ours: tuple[str, Sequence[float]], theirs: tuple[str, Sequence[float]]
) -> Verdict:
    """Compare two arms seed by seed, both on the same seeds in the same order.

    Example:
        >>> compared(SECONDS, ("a", [1.0, 2.0, 3.0]), ("b", [2.0, 3.0, 2.5])).figure
        'a 2.00 (3.00–1.00) s, b 2.50 (3.00–2.00) s; a better on 2 of 3 seeds'
    """
    (name, values), (other, rivals) = ours, theirs
    wins = sum(measure.better(a, b) for a, b in zip(values, rivals, strict=True))
    holds = measure.better(mean(values), mean(rivals)) and wins >= SURE * len(values) - 1e-9
    seeds = "the one seed" if len(values) == 1 and wins else f"{wins} of {len(values)} seeds"
    figure = f"{name} {measure.told(values)}, {other} {measure.told(rivals)}; {name} better on {seeds}"
    return Verdict(holds, figure)


def grows(values: Sequence[float], slack: float = 0.0) -> bool:
    """Return whether values rise from first to last and never fall by more than `slack` in one step.

    Example:
        >>> grows([1.0, 2.0, 1.95], slack=0.1), grows([1.0, 2.0, 0.5])
        (True, False)
    """
    falls = [before - after for before, after in pairwise(values)]
    return values[-1] > values[0] and all(fall <= slack for fall in falls)
