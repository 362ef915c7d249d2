"""The change from one epoch to the next: which workers continue, and from which version.

A worker dies, or a reduction does not end. Each worker in that reduction leaves it and says which version it
has (`State`), or has completed it and says so (`Applied`); from then on nothing of the old epoch completes
anywhere. Workers that say neither in time are expelled: they say Hello again, and copy the state of the
others. If no other worker has a state, silent ones get more time: a machine that stood still for a second is
no reason to fail the run. The new epoch continues from the newest version that one of the others has: only a
round that none of them completed is reduced again, from gradients as they were.
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
    """The result of a change.

    Attributes:
        expelled: workers that were silent.
        holder: worker that has the log up to `base`; None if no worker is left.
        base: version to continue from.
    """

    expelled: tuple[WorkerId, ...]
    holder: WorkerId | None
    base: int


@final
class Change:
    """The change that is under way, if one is.

    Args:
        places: the activity of every worker; kept up to date here while a change is under way.
        suspicion: the limits on the silence of workers.

    Attributes:
        under_way: whether a change is under way.
        is_broken: whether it began because a reduction could not end.
        until: the clock's seconds at which to expel silent workers, if others have a state; None for never.
    """

    def __init__(self, places: Places, suspicion: Suspicion) -> None:
        self.under_way = self.is_broken = False
        self.until: Seconds | None = None
        self._places, self._suspicion = places, suspicion
        self._asked: set[WorkerId] = set()
        self._expelled: tuple[WorkerId, ...] = ()
        self._all_were_silent = False

    def begin(self, now: Seconds, is_broken: bool) -> None:
        """Begin a change, or begin it anew when a worker is lost in it: the others have their time again.

        Args:
            now: the clock's seconds.
            is_broken: whether a reduction cannot end. Otherwise its workers complete it, however slowly.
        """
        self.is_broken = is_broken or (self.under_way and self.is_broken)
        self.under_way = True
        self.until = now + self._suspicion.patience if is_broken else self.until
        self._asked, self._expelled, self._all_were_silent = set(), (), False

    def hear(self, message: Arrived | Applied | State | Bye, now: Seconds) -> None:
        """Take from a message which version its worker has; it will send the rest again, in the new epoch."""
        place = self._places[message.worker]
        if self._all_were_silent and isinstance(message, Applied | State):
            # The machine responds again: the others have the full time from now on.
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
        """Return the result of the change, once; None as long as it is not known.

        Args:
            newest: newest version that a worker has ever reported.
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
        """Return the workers to ask for their version, once each: only they may still have the newest."""
        unasked = [worker for worker in self._doubtful(newest) if worker not in self._asked]
        self._asked.update(unasked)
        return unasked

    def _is_held_without(self, some: tuple[WorkerId, ...]) -> bool:
        """Return whether other workers than these have a state to continue from."""
        return any(self._places[one].has > NOTHING for one in self._places.there if one not in some)

    def _doubtful(self, newest: int) -> list[WorkerId]:
        if not self._places.there or self._places[self._places.newest].has >= newest:
            return []
        return self._places.underway
