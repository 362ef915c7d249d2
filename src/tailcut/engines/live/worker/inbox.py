"""The messages of the controller to this worker, in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeAlias, final

from tailcut.engines.live.hosting import host_folder, is_over, note_late
from tailcut.engines.live.messages import Free, FromController, New, Refused
from tailcut.engines.live.worker.link import Link
from tailcut.errors import TailcutError
from tailcut.types import Seconds

LOOK_UP: Seconds = 1.0
"""Seconds after which a worker that waits checks whether it has waited too long."""

WITHOUT: Seconds = 5.0
"""Seconds that a worker which has left goes on serving others after the controller has disconnected."""
WITHOUT_AT_HOME: Seconds = 60.0
"""Seconds that such a worker serves others under a launcher, whose next controller may take long."""


class RunError(TailcutError):
    """The run cannot go on at this worker; the message says why."""


class TooLateError(RunError):
    """The run is over, or this worker's part in it was; the other workers have not failed."""


def too_late(why: str) -> TooLateError:
    """Return the error, and tell a launcher that this worker's failure is no failure of the run."""
    note_late()
    return TooLateError(why)


@final
class Renewed:
    """A mark among the messages: the connection was lost and is back, perhaps to another controller."""


RENEWED = Renewed()
News: TypeAlias = FromController | Renewed


class Inbox:
    """The messages of the controller in order; a `Refused` is raised as an error as soon as it is seen.

    The controller judges how long workers may compute; the inbox only judges whether there is a controller.

    Args:
        link: connection to the controller.
        max_wait: seconds without a controller after which to give up.
        clock: returns seconds, never running backwards.
    """

    def __init__(self, link: Link, max_wait: Seconds, clock: Callable[[], Seconds]) -> None:
        self._link, self._max_wait, self._clock = link, max_wait, clock
        self._unread: deque[News] = deque()
        self._broken, self._parent = False, os.getppid()

    def look(self) -> Iterable[News]:
        """Return all messages that came and were not read, without waiting. They stay unread."""
        self._unread.extend(map(self._sound, self._link.waiting()))
        if self._link.take_renewal():
            self._unread.append(RENEWED)
        return self._unread

    def next(self) -> News:
        """Wait for the next message and return it."""
        if self._unread:
            return self._unread.popleft()
        last = self._clock()
        while self._clock() - last < self._max_wait:
            message = self._link.next(min(LOOK_UP, self._max_wait))
            if message is not None:
                return self._sound(message)
            if self._link.take_renewal():
                return RENEWED
            if self._link.is_connected:
                last = self._clock()
            elif is_over(self._link.address):
                self._broken = True
                raise too_late(
                    "The run is over, and its controller has ended, before this worker could join."
                )
            if self._link.is_turned_away:
                self._broken = True
                raise RunError(
                    f"The controller at {self._link.address} does not let this worker in. Give all the same key, by "
                    "TAILCUT_KEY or TAILCUT_KEY_FILE, or none."
                )
        self._broken = True
        raise RunError(
            f"There has been no controller at {self._link.address} for {self._max_wait:g} s. "
            "See why it has ended, or raise max_wait."
        )

    def until_free(self, patience: Seconds, attend: Callable[[New | Renewed], None] | None = None) -> bool:
        """Wait, after leaving, until no worker needs this one; return whether the controller said so.

        Otherwise it refused this worker, the time is over, or there is no controller any more.

        Args:
            patience: seconds to wait at most; infinite to wait as long as there is a controller.
            attend: is told of another controller, or another epoch, that knows this worker as a member; None where
                its state may have changed since it left, so that it can help no other worker.
        """
        until = self._clock() + (0.0 if self._broken else patience)
        while (left := until - self._clock()) > 0:
            message = self._unread.popleft() if self._unread else self._link.next(min(LOOK_UP, left))
            if message is None and self._link.take_renewal():
                message = RENEWED
            if isinstance(message, Free | Refused):
                return isinstance(message, Free)
            if attend is not None and isinstance(message, New | Renewed):
                attend(message)
                until = self._clock() + patience
            if message is None and not self._link.is_connected:
                until = min(until, self._clock() + self._without)
        return False

    @property
    def _without(self) -> Seconds:
        """Return the seconds to wait for another controller; after the run a launcher starts none."""
        has_launcher = host_folder() is not None and os.getppid() == self._parent
        return WITHOUT_AT_HOME if has_launcher and not is_over(self._link.address) else WITHOUT

    def _sound(self, message: FromController) -> FromController:
        if isinstance(message, Refused):
            self._broken = True
            raise too_late(message.why) if message.late else RunError(message.why)
        return message
