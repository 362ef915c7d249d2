"""What a forecaster is: it keeps a belief about the workers and turns observed run times into forecasts."""

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
        """Whether it has a model already."""

    @property
    def rounds_beforehand(self) -> int:
        """Rounds of a separate draw that it should be trained on."""

    @property
    def rounds_in_run(self) -> int:
        """First rounds of a run that it collects and trains itself on where it was not trained beforehand."""

    @property
    def least_rounds(self) -> int:
        """Fewest rounds that training works with."""

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
