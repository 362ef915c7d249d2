"""Questions of the controller to the update servers of workers, over connections of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import final

import zmq

from tailcut.engines.live.keys import SEALED, Key, secured_client
from tailcut.engines.live.messages import Here, Where
from tailcut.engines.live.wire import BETWEEN_WORKERS, WireError, encode
from tailcut.types import WorkerId

MAX_ANSWER_BYTES = 1 << 11
"""Longest answer, in bytes."""


@final
class Asking:
    """Asks workers where they are in their script: while they compute they read nothing from the controller.

    Args:
        key: key of the run; None if it has none.
    """

    def __init__(self, key: Key | None = None) -> None:
        self._key = key
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._sockets: dict[WorkerId, zmq.Socket[bytes]] = {}

    def ask(self, addresses: Mapping[WorkerId, str], asked: Where) -> None:
        """Ask these workers; questions asked before are dropped."""
        self._hang_up()
        self._context = self._context or zmq.Context()
        for worker, address in addresses.items():
            socket = self._sockets[worker] = self._context.socket(zmq.DEALER)
            secured_client(socket, self._key)
            socket.setsockopt(zmq.LINGER, 0)
            socket.setsockopt(zmq.IPV6, int("[" in address))
            socket.setsockopt(zmq.MAXMSGSIZE, MAX_ANSWER_BYTES + SEALED)
            # An address that cannot be connected to is that of a worker that does not answer.
            with suppress(zmq.ZMQError):
                socket.connect(address)
                socket.send(encode(asked), zmq.NOBLOCK)

    def answers(self) -> Iterator[tuple[WorkerId, Here]]:
        """Return the answers that have come, without waiting."""
        for worker, socket in list(self._sockets.items()):
            with suppress(zmq.Again, WireError):
                answer = BETWEEN_WORKERS.read(socket.recv(zmq.NOBLOCK))
                if isinstance(answer, Here):
                    yield worker, answer

    def close(self) -> None:
        """Close all connections."""
        self._hang_up()
        if self._context is not None:
            self._context.term()

    def _hang_up(self) -> None:
        for each in self._sockets.values():
            each.close(0)
        self._sockets.clear()
