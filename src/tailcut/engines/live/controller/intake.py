"""What comes to the controller: one message after another, of peers that are listened to."""

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
"""Messages taken in before whoever reads them looks at the clock again."""


class Came(NamedTuple):
    """A message.

    Attributes:
        peer: the name of the connection it came over.
        message: what was said.
        frame: it came in, where that can tell the connection itself.
    """

    peer: bytes
    message: FromWorker
    frame: zmq.Frame | None


@final
class Intake:
    """Reads a socket.

    Args:
        router: the socket.
        clock: seconds, never running backwards.

    Attributes:
        malformed: frames that were no message.
        dropped: messages that were not looked at, of peers that said too much, or too much that was no message.
        is_quiet: whether nothing was left to be read the last time.
    """

    def __init__(self, router: Router, clock: Callable[[], Seconds]) -> None:
        self.malformed = self.dropped = 0
        self.is_quiet = False
        self._router, self._clock = router, clock
        self._limits = Limits()

    @property
    def something_came(self) -> bool:
        """Whether there is something to read."""
        return bool(int(self._router.getsockopt(zmq.EVENTS)) & zmq.POLLIN)

    def messages(self, is_traced: Callable[[bytes], bool]) -> Iterator[Came]:
        """What has come, up to a number: then it is time to look at the clock.

        Args:
            is_traced: whether it is known over which connection a peer comes. Frames that can tell cost twice the time.
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
        """What it said was refused."""
        self._limits.charge(peer, self._clock())

    def _read(self, peer: bytes, is_traced: bool) -> Came | None:
        part: bytes | zmq.Frame | None = None
        count = 0
        while self._router.getsockopt(zmq.RCVMORE):
            # Of several parts nothing is made, however many there are.
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
