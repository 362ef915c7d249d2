"""From one epoch to the next: who goes on, and from which version.

A worker dies, or a reduction does not end. Whoever is in that reduction leaves it and says which version it has
(`State`), or has completed it and says so (`Applied`); from then on nothing of the old epoch completes anywhere. Those
who say neither in time are expelled: they say Hello again, and copy the state of the others. Where there are no others
with a state, they have more time: a machine that stood still for a second is no reason to give a run up. The new epoch
continues from the newest version that one of the others has: only a round that none of them completed is reduced again,
from gradients as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tailcut.engines.live.controller.places import NOTHING, Places
from tailcut.engines.live.controller.suspicion import Suspicion
from tailcut.engines.live.messages import Applied, Arrived, Bye, State
from tailcut.types import Seconds, WorkerId

NO_STATE = (
    "All who had the net's state are gone, before those who join could copy it. Resume from a checkpoint."
)


@final
@dataclass(frozen=True, slots=True)
class Next:
    """What a change has come to.

    Attributes:
        expelled: who was silent.
        holder: who has the log up to `base`; None where nobody is left.
        base: version to continue from.
    """

    expelled: tuple[WorkerId, ...]
    holder: WorkerId | None
    base: int


@final
class Change:
    """The change that is under way, if one is.

    Args:
        places: what every worker does; kept up to date here while a change is under way.
        suspicion: says how long silent workers are waited for.

    Attributes:
        under_way: whether one is.
        is_broken: whether it began because a reduction could not end.
        until: the clock's seconds at which who is silent is expelled, if others have a state; None for never.
    """

    def __init__(self, places: Places, suspicion: Suspicion) -> None:
        self.under_way = self.is_broken = False
        self.until: Seconds | None = None
        self._places, self._suspicion = places, suspicion
        self._asked: set[WorkerId] = set()
        self._expelled: tuple[WorkerId, ...] = ()
        self._all_were_silent = False

    def begin(self, now: Seconds, is_broken: bool) -> None:
        """The epoch is over. Who is lost in a change begins it anew: the others have their time again.

        Args:
            now: the clock's seconds.
            is_broken: whether a reduction cannot end. Otherwise whoever reduces completes that, however long it takes.
        """
        self.is_broken = is_broken or (self.under_way and self.is_broken)
        self.under_way = True
        self.until = now + self._suspicion.patience if is_broken else self.until
        self._asked, self._expelled, self._all_were_silent = set(), (), False

    def hear(self, message: Arrived | Applied | State | Bye, now: Seconds) -> None:
        """Only what tells which version a worker has counts: the rest it will say again, in the new epoch."""
        place = self._places[message.worker]
        if self._all_were_silent and isinstance(message, Applied | State):
            # The machine moves again: the others have as long from now on.
            self.until, self._all_were_silent = now + self._suspicion.patience, False
        match message:
            case Applied():
                place.made(message.version)
            case State():
                place.broke_off(message.version)
                self.until = now + self._suspicion.patience if self.until is None else self.until
            case Arrived():
                place.has = max(place.has, message.version)
            case Bye():
                self._places.leave(message.worker, message.version)

    def settled(self, newest: int, now: Seconds) -> Next | None:
        """What it has come to, once; None as long as that is not known.

        Args:
            newest: version that somebody has ever reported.
            now: the clock's seconds.
        """
        silent = tuple(self._places.reducing)
        if silent and (self.until is None or now < self.until):
            return None
        if silent and not self._is_held_without(silent):
            self.until, self._all_were_silent = now + self._suspicion.patience, True
            return None
        for worker in silent:
            self._places.lose(worker)
        self._expelled += silent
        if self._places.there and self._doubtful(newest):
            return None
        self.under_way, self.until = False, None
        holder = self._places.newest if self._places.there else None
        return Next(self._expelled, holder, newest if holder is None else self._places[holder].has)

    def to_ask(self, newest: int) -> list[WorkerId]:
        """Who must be asked for its version, once each: whoever had the newest is gone, but these may have got it."""
        unasked = [worker for worker in self._doubtful(newest) if worker not in self._asked]
        self._asked.update(unasked)
        return unasked

    def _is_held_without(self, some: tuple[WorkerId, ...]) -> bool:
        """Whether others than these have a state to go on from."""
        return any(self._places[one].has > NOTHING for one in self._places.there if one not in some)

    def _doubtful(self, newest: int) -> list[WorkerId]:
        if not self._places.there or self._places[self._places.newest].has >= newest:
            return []
        return self._places.underway
