"""Listeners to a run's events, called when no worker waits for the controller. Their failures end no run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import final

from tailcut.engines.records.files import reason
from tailcut.engines.records.standing import Standing
from tailcut.events import Settle
from tailcut.types import RoundRecord, Seconds


class Listener(ABC):
    """An object that is told the events of a run. Times are on the controller's clock, in seconds."""

    @abstractmethod
    def round(self, record: RoundRecord) -> None:
        """Take in a closed round."""

    @abstractmethod
    def settled(self, settle: Settle) -> None:
        """Take in a gradient that was pending at the close of its round: it has come, or never will."""

    def back(self, version: int, why: str) -> None:
        """Take in that the run has gone back to an older version; rounds from there on are made again."""
        del version, why

    def skipped(self, version: int, why: str) -> None:
        """Take in that the gradients that a round had taken were lost before they were added."""
        del version, why

    @abstractmethod
    def look(self, standing: Standing, now: Seconds) -> None:
        """Use a moment in which no worker waits for the controller; called several times a second."""

    @abstractmethod
    def end(self, standing: Standing, now: Seconds) -> None:
        """Finish: the run is over, and nothing comes after."""

    def hand_over(self) -> None:
        """Release everything, as this controller ends before the run, which another may continue."""
        self.give_up()

    @abstractmethod
    def give_up(self) -> None:
        """Release everything, whatever the state; nothing comes after."""


@final
class Several(Listener):
    """A listener that tells each of several others; none by default."""

    def __init__(self, each: Sequence[Listener] = ()) -> None:
        self._each = each

    def round(self, record: RoundRecord) -> None:
        """Tell each listener."""
        for one in self._each:
            one.round(record)

    def settled(self, settle: Settle) -> None:
        """Tell each listener."""
        for one in self._each:
            one.settled(settle)

    def back(self, version: int, why: str) -> None:
        """Tell each listener."""
        for one in self._each:
            one.back(version, why)

    def skipped(self, version: int, why: str) -> None:
        """Tell each listener."""
        for one in self._each:
            one.skipped(version, why)

    def look(self, standing: Standing, now: Seconds) -> None:
        """Tell each listener."""
        for one in self._each:
            one.look(standing, now)

    def end(self, standing: Standing, now: Seconds) -> None:
        """Tell each listener."""
        for one in self._each:
            one.end(standing, now)

    def hand_over(self) -> None:
        """Tell each listener."""
        for one in self._each:
            one.hand_over()

    def give_up(self) -> None:
        """Tell each listener."""
        for one in self._each:
            one.give_up()


@final
class Guarded(Listener):
    """A listener that tells another one until that fails to write; the run goes on without it.

    Args:
        inner: the other listener.
        what: name of what that keeps and where, for the sentence: "The record in runs/7".
        say: is called with the sentence, once.
    """

    def __init__(self, inner: Listener, what: str, say: Callable[[str], None]) -> None:
        self._inner: Listener | None = inner
        self._what, self._say = what, say

    def round(self, record: RoundRecord) -> None:
        """Tell the inner listener."""
        self._try(lambda inner: inner.round(record))

    def settled(self, settle: Settle) -> None:
        """Tell the inner listener."""
        self._try(lambda inner: inner.settled(settle))

    def back(self, version: int, why: str) -> None:
        """Tell the inner listener."""
        self._try(lambda inner: inner.back(version, why))

    def skipped(self, version: int, why: str) -> None:
        """Tell the inner listener."""
        self._try(lambda inner: inner.skipped(version, why))

    def look(self, standing: Standing, now: Seconds) -> None:
        """Tell the inner listener."""
        self._try(lambda inner: inner.look(standing, now))

    def end(self, standing: Standing, now: Seconds) -> None:
        """Tell the inner listener."""
        self._try(lambda inner: inner.end(standing, now))

    def hand_over(self) -> None:
        """Tell the inner listener."""
        self._try(lambda inner: inner.hand_over())

    def give_up(self) -> None:
        """Tell the inner listener."""
        self._try(lambda inner: inner.give_up())

    def _try(self, tell: Callable[[Listener], None]) -> None:
        inner = self._inner
        if inner is None:
            return
        try:
            tell(inner)
        except OSError as error:
            self._inner = None
            self._say(f"{self._what} ends here: {reason(error)}. The run goes on without it.")
            inner.give_up()
