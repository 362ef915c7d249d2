"""The interface of forecasters, which keep a belief about workers and turn run times into forecasts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from tailcut.types import Forecast, Roster, RunTimes, Weights

S = TypeVar("S")


@runtime_checkable
class Trainable(Protocol):
    """A forecaster that can be trained on whole rounds before a run, beside its usual methods."""

    @property
    def is_trained(self) -> bool:
        """Return whether the forecaster has a trained model."""

    @property
    def rounds_beforehand(self) -> int:
        """The number of rounds of a separate draw that it should be trained on."""

    @property
    def rounds_in_run(self) -> int:
        """The number of first rounds of a run on which it trains itself if not trained beforehand."""

    @property
    def least_rounds(self) -> int:
        """The smallest number of rounds that training works with."""

    def trained(self, rounds: Sequence[RunTimes]) -> Forecaster[Any]:
        """Return the forecaster trained on these rounds, in which every worker was observed."""

    def collecting(self, rounds: int) -> Forecaster[Any]:
        """Return the forecaster that trains itself on so many first rounds of a run."""


class Forecaster(ABC, Generic[S]):
    """Run times in, forecasts out. The belief `S` is passed in and returned, never kept in the object.

    Subclasses are final frozen dataclasses whose fields are parameters only. They read no clock and draw no random
    numbers, so that the same observations always give the same forecast.
    """

    @abstractmethod
    def start(self) -> S:
        """Return the belief before anything was seen."""

    @abstractmethod
    def learn(self, belief: S, seen: RunTimes) -> S:
        """Return the belief after `seen`; `belief` itself stays as it was."""

    def weights(self, belief: S) -> Weights:
        """Return the weight of each part of a blended forecast, for the record; empty without a blend."""
        del belief
        return ()

    @abstractmethod
    def forecast(self, belief: S, roster: Roster) -> Forecast | None:
        """Return the law of the roster's next run times, or None while too little is known."""
