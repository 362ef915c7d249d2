"""Reads the messages that come to the controller, within the limits of each peer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, final

import zmq

from tailcut.engines.live.controller.listening import Router
from tailcut.engines.live.limits import Limits
from tailcut.engines.live.messages import FromWorker
from tailcut.engines.live.wire import FROM_WORKER, WireError
from tailcut.types import Seconds

MOST_AT_ONCE = 1024
"""Most messages that are read before the controller looks at the clock again."""


class Came(NamedTuple):
    """A message that came.

    Attributes:
        peer: identity of the connection that it came over.
        message: the message, decoded.
        frame: its frame, if that can tell the connection's file descriptor; None if not.
    """

    peer: bytes
    message: FromWorker
    frame: zmq.Frame | None


@final
class Intake:
    """Reads messages from a socket.

    Args:
        router: the socket.
        clock: seconds, never running backwards.

    Attributes:
        malformed: frames that were no message.
        dropped: messages that were not decoded, of peers above their limit.
        is_quiet: whether no message was left to be read the last time.
    """

    def __init__(self, router: Router, clock: Callable[[], Seconds]) -> None:
        self.malformed = self.dropped = 0
        self.is_quiet = False
        self._router, self._clock = router, clock
        self._limits = Limits()

    @property
    def something_came(self) -> bool:
        """Return whether there is a message to read."""
        return bool(int(self._router.getsockopt(zmq.EVENTS)) & zmq.POLLIN)

    def messages(self, is_traced: Callable[[bytes], bool]) -> Iterator[Came]:
        """Read the messages that have come, at most `MOST_AT_ONCE`: then it is time to look at the clock.

        Args:
            is_traced: returns whether a peer's connection is known. Frames that tell it cost twice the time.
        """
        self.is_quiet = False
        for _ in range(MOST_AT_ONCE):
            try:
                peer = self._router.recv(zmq.NOBLOCK)
            except zmq.Again:
                self.is_quiet = True
                return
            came = self._read(peer, is_traced(peer))
            if came is not None:
                yield came

    def offends(self, peer: bytes) -> None:
        """Charge a peer for a message that was refused."""
        self._limits.charge(peer, self._clock())

    def _read(self, peer: bytes, is_traced: bool) -> Came | None:
        part: bytes | zmq.Frame | None = None
        count = 0
        while self._router.getsockopt(zmq.RCVMORE):
            # A message of several parts is malformed: only the last part is kept, and their number.
            part, count = self._router.recv() if is_traced else self._router.recv(copy=False), count + 1
        if not self._limits.admits(peer, self._clock()):
            self.dropped += 1
            return None
        try:
            if part is None or count != 1:
                raise WireError(f"A message of {count} parts came; they have 1.")
            message = FROM_WORKER.read(part if isinstance(part, bytes) else part.bytes)
        except WireError:
            self.malformed += 1
            self.offends(peer)
            return None
        return Came(peer, message, None if isinstance(part, bytes) else part)
