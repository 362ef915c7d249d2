"""The recent empirical distribution: all workers alike, the next run times are like those of the last rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.forecast.base import Forecaster
from tailcut.forecast.carry import carry_over
from tailcut.likelihood import kaplan_meier
from tailcut.order import time_grid
from tailcut.types import Forecast, Roster, RunTimes


@final
@dataclass(frozen=True, slots=True)
class Recent(Forecaster[tuple[RunTimes, ...]]):
    """Kaplan–Meier curve of the pooled run times of the last `window` rounds.

    With no censored times this is the plain empirical distribution. Workers join and leave freely: the
    forecast does not tell them apart.

    Example:
        >>> forecaster = Recent(window=20)
    """

    window: int = 20

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ParameterError(f"window must be at least 1 round, but got {self.window}. Try window=20.")

    def start(self) -> tuple[RunTimes, ...]:
        """Return a belief of no rounds."""
        return ()

    def learn(self, belief: tuple[RunTimes, ...], seen: RunTimes) -> tuple[RunTimes, ...]:
        """Keep the last `window` records."""
        return (*belief, seen)[-self.window :]

    def forecast(self, belief: tuple[RunTimes, ...], roster: Roster) -> Forecast | None:
        """Return the same curve for all workers; what lies beyond the longest time seen may never come."""
        if not any(seen.observed.any() for seen in belief):
            return None
        seconds = np.concatenate([seen.seconds for seen in belief])
        observed = np.concatenate([seen.observed for seen in belief])
        events, survival = kaplan_meier(seconds, observed)
        times = time_grid(seconds[observed])
        steps = np.concatenate([[1.0], survival])
        curve = steps[np.searchsorted(events, times, side="right")]
        return carry_over(Forecast.independent(roster.workers, times, curve), roster.busy)
