"""What a forecaster is: it keeps a belief about the workers and turns observed run times into forecasts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from tailcut.types import Forecast, Roster, RunTimes, Weights

S = TypeVar("S")


class Forecaster(ABC, Generic[S]):
    """Run times in, forecasts out. The belief `S` is passed in and returned, never kept in the object.

    Subclasses are final frozen dataclasses whose fields are parameters only. They read no clock and draw no random
    numbers, so that the same observations always give the same forecast.
    """

    @abstractmethod
    def start(self) -> S:
        """The belief before anything was seen."""

    @abstractmethod
    def learn(self, belief: S, seen: RunTimes) -> S:
        """The belief after `seen`; `belief` itself stays as it was."""

    def weights(self, belief: S) -> Weights:
        """How much each part counts in the next forecast, where it is a blend of several; for the record."""
        del belief
        return ()

    @abstractmethod
    def forecast(self, belief: S, roster: Roster) -> Forecast | None:
        """The law of the roster's next run times, or None while too little is known to say anything."""
