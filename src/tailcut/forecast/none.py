"""The null case: no forecast at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tailcut.forecast.base import Forecaster
from tailcut.types import Roster, RunTimes


@final
@dataclass(frozen=True, slots=True)
class NoForecast(Forecaster[None]):
    """No forecast, for rules that look at arrivals only."""

    def start(self) -> None:
        """Return no belief."""

    def learn(self, belief: None, seen: RunTimes) -> None:
        """Learn nothing."""

    def forecast(self, belief: None, roster: Roster) -> None:
        """Return no forecast."""
