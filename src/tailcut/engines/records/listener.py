"""Who is told what happens in a run, when nobody waits for the controller. What listeners fail at ends no training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import final

from tailcut.engines.records.files import reason
from tailcut.engines.records.standing import Standing
from tailcut.events import Settle
from tailcut.types import RoundRecord, Seconds


class Listener(ABC):
    """Is told of a run. Times are the controller's clock."""

    @abstractmethod
    def round(self, record: RoundRecord) -> None:
        """A round has closed."""

    @abstractmethod
    def settled(self, settle: Settle) -> None:
        """A gradient that was pending at its close has come, or never will."""

    def back(self, version: int, why: str) -> None:
        """The run has gone back to parameters of an older version; rounds from there on are made again."""
        del version, why

    def skipped(self, version: int, why: str) -> None:
        """The gradients that a round had taken were lost before they were added."""
        del version, why

    @abstractmethod
    def look(self, standing: Standing, now: Seconds) -> None:
        """Nobody waits for anything just now; called several times a second."""

    @abstractmethod
    def end(self, standing: Standing, now: Seconds) -> None:
        """The run is over; nothing comes after."""

    def hand_over(self) -> None:
        """Whoever tells it ends before the run does, and another may go on; nothing comes after here."""
        self.give_up()

    @abstractmethod
    def give_up(self) -> None:
        """Let go of everything, whatever the state; nothing comes after."""


@final
class Several(Listener):
    """Tells each of several; none by default."""

    def __init__(self, each: Sequence[Listener] = ()) -> None:
        self._each = each

    def round(self, record: RoundRecord) -> None:
        """Tell all."""
        for one in self._each:
            one.round(record)

    def settled(self, settle: Settle) -> None:
        """Tell all."""
        for one in self._each:
            one.settled(settle)

    def back(self, version: int, why: str) -> None:
        """Tell all."""
        for one in self._each:
            one.back(version, why)

    def skipped(self, version: int, why: str) -> None:
        """Tell all."""
        for one in self._each:
            one.skipped(version, why)

    def look(self, standing: Standing, now: Seconds) -> None:
        """Tell all."""
        for one in self._each:
            one.look(standing, now)

    def end(self, standing: Standing, now: Seconds) -> None:
        """Tell all."""
        for one in self._each:
            one.end(standing, now)

    def hand_over(self) -> None:
        """Tell all."""
        for one in self._each:
            one.hand_over()

    def give_up(self) -> None:
        """Tell all."""
        for one in self._each:
            one.give_up()


@final
class Guarded(Listener):
    """Tells another until it fails to write; says so once, and the run goes on without it.

    Args:
        inner: the other.
        what: it keeps and where, for the sentence: "The record in runs/7".
        say: is told the sentence.
    """

    def __init__(self, inner: Listener, what: str, say: Callable[[str], None]) -> None:
        self._inner: Listener | None = inner
        self._what, self._say = what, say

    def round(self, record: RoundRecord) -> None:
        """Tell it."""
        self._try(lambda inner: inner.round(record))

    def settled(self, settle: Settle) -> None:
        """Tell it."""
        self._try(lambda inner: inner.settled(settle))

    def back(self, version: int, why: str) -> None:
        """Tell it."""
        self._try(lambda inner: inner.back(version, why))

    def skipped(self, version: int, why: str) -> None:
        """Tell it."""
        self._try(lambda inner: inner.skipped(version, why))

    def look(self, standing: Standing, now: Seconds) -> None:
        """Tell it."""
        self._try(lambda inner: inner.look(standing, now))

    def end(self, standing: Standing, now: Seconds) -> None:
        """Tell it."""
        self._try(lambda inner: inner.end(standing, now))

    def hand_over(self) -> None:
        """Tell it."""
        self._try(lambda inner: inner.hand_over())

    def give_up(self) -> None:
        """Tell it."""
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
