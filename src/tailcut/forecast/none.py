"""The null case: no forecast at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tailcut.forecast.base import Forecaster
from tailcut.types import Roster, RunTimes


@final
@dataclass(frozen=True, slots=True)
class NoForecast(Forecaster[None]):
    """For rules that look at arrivals only."""

    def start(self) -> None:
        """Nothing is believed."""

    def learn(self, belief: None, seen: RunTimes) -> None:
        """Nothing is learnt."""

    def forecast(self, belief: None, roster: Roster) -> None:
        """Nothing is foreseen."""
