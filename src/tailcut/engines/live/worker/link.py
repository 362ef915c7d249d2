"""A worker's connection to the controller: messages in order, awaited with a time limit. For one thread."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from uuid import uuid4

import zmq
from zmq.utils.monitor import recv_monitor_message

from tailcut.engines.live.heartbeats import watch_connections
from tailcut.engines.live.keys import SEALED, Key, secured_client
from tailcut.engines.live.messages import FromController, FromWorker
from tailcut.engines.live.wire import FROM_CONTROLLER, MOST_BYTES, encode
from tailcut.errors import InputError
from tailcut.types import Seconds

LINGER_MS = 1000
"""Longest time that a closing connection goes on sending the last messages, in milliseconds."""
CONNECT_MS = 2000
"""Time after which an attempt to connect is given up and repeated, in milliseconds."""
SURELY = zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH
PERHAPS = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
"""Failed handshakes: `SURELY` as keys differ, `PERHAPS` as keys differ or the controller ended meanwhile."""
MOST_PERHAPS = 10


class Link:
    """The connection of one worker to the controller.

    Args:
        address: address of the controller, as `tcp://host:port`.
        key: key of the run; None where it has none.
    """

    def __init__(self, address: str, key: Key | None = None) -> None:
        self.address = address
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        secured_client(self._socket, key)
        self._socket.setsockopt(zmq.LINGER, LINGER_MS)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MOST_BYTES + SEALED)
        # A worker that computes for long reads nothing meanwhile, and must find every message when it does.
        self._socket.setsockopt(zmq.RCVHWM, 0)
        # The identity outlives a lost connection: the controller recognizes the worker by it.
        self._socket.setsockopt(zmq.ROUTING_ID, uuid4().bytes)
        watch_connections(self._socket)
        self._socket.setsockopt(zmq.CONNECT_TIMEOUT, CONNECT_MS)
        self._is_connected = self._is_renewed = False
        self._connections = self._failures = 0
        watched = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | SURELY | PERHAPS
        self._events = self._socket.get_monitor_socket(watched)
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._poller.register(self._events, zmq.POLLIN)
        try:
            self._socket.connect(address)
        except zmq.ZMQError as problem:
            self.close()
            raise InputError(
                f"The controller's address {address!r} cannot be connected to: {problem}. Give it as tcp://host:port."
            ) from problem

    @property
    def is_connected(self) -> bool:
        """Return whether the controller is connected, as far as is known."""
        while self._events.poll(0):
            event = recv_monitor_message(self._events)["event"]
            self._is_connected = event == zmq.EVENT_HANDSHAKE_SUCCEEDED
            self._failures += MOST_PERHAPS * bool(event & SURELY) + bool(event & PERHAPS)
            self._failures *= not self._is_connected
            self._connections += self._is_connected
            self._is_renewed |= self._is_connected and self._connections > 1
        return self._is_connected

    @property
    def is_turned_away(self) -> bool:
        """Return whether a controller refuses the handshake: it has another key, or only one has any."""
        return not self.is_connected and self._failures >= MOST_PERHAPS

    def take_renewal(self) -> bool:
        """Return, once, whether the connection was lost and is there again, perhaps to another controller."""
        found = self.is_connected and self._is_renewed
        self._is_renewed = self._is_renewed and not found
        return found

    def send(self, message: FromWorker) -> None:
        """Send a message, without waiting until it is delivered."""
        self._socket.send(encode(message))

    def next(self, seconds: Seconds) -> FromController | None:
        """Wait for the next message, so long at most; return None if none came or the connection changed."""
        milliseconds = max(0, round(1000 * seconds))
        if milliseconds:
            self._poller.poll(milliseconds)
        try:
            return FROM_CONTROLLER.read(self._socket.recv(zmq.NOBLOCK))
        except zmq.Again:
            return None

    def waiting(self) -> Iterator[FromController]:
        """Yield the messages that have come so far."""
        while (message := self.next(0.0)) is not None:
            yield message

    def close(self) -> None:
        """Close the connection; the last messages are still sent."""
        self._socket.disable_monitor()
        self._events.close()
        self._socket.close()
        self._context.term()

    def __enter__(self) -> Link:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
