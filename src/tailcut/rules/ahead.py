"""Ahead: choose the cutoff before the round, from the expected order statistics of the forecast."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np

from tailcut.counts import expected_order_statistics
from tailcut.objective import Count, Objective
from tailcut.order import best_cutoff
from tailcut.rules.base import Opening, Rule
from tailcut.types import Close, Decision, Progress, Wait


@final
@dataclass(frozen=True, slots=True)
class Ahead(Rule[None, int | None]):
    """c = argmax over c of value(c) / (E[x_(c)] + overhead), fixed when the round opens (Teng & Wood, 1803.04209).

    Without a forecast it waits for all.

    Example:
        >>> rule = Ahead()
    """

    objective: Objective = field(default_factory=Count)

    def start(self) -> None:
        """Remember nothing between rounds."""

    def plan(self, memory: None, opening: Opening) -> int | None:
        """Return the cutoff, or None while there is no forecast."""
        del memory
        forecast = opening.forecast
        if forecast is None:
            return None
        means = forecast.order_means
        if means is None:
            means = expected_order_statistics(forecast)
        counts = np.arange(1.0, len(means) + 1.0)
        return best_cutoff(self.objective.value(counts), means, opening.overhead)

    def decide(self, plan: int | None, progress: Progress) -> Decision:
        """Wait for the cutoff, or for as many workers as can still arrive."""
        if plan is None:
            return Wait()
        possible = progress.count + int((np.isinf(progress.arrivals) & ~progress.gone).sum())
        target = max(1, min(plan, possible))
        return Close() if progress.count >= target else Wait(count=target)
