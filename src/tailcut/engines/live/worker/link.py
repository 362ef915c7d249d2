"""A worker's line to the controller: messages in order, waited for with a limit. Used from one thread."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from uuid import uuid4

import zmq
from zmq.utils.monitor import recv_monitor_message

from tailcut.engines.live.messages import FromController, FromWorker
from tailcut.engines.live.wire import FROM_CONTROLLER, encode
from tailcut.errors import InputError
from tailcut.types import Seconds

LINGER_MS = 1000
"""How long a closing line goes on sending what was said last."""
KEEPALIVE_S = 30
"""Of quiet after which the system sees whether the other machine is still there."""


class Link:
    """Connected to the controller.

    Args:
        address: of the controller, as `tcp://host:port`.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, LINGER_MS)
        # A worker that computes for long reads nothing meanwhile, and must find every message when it does.
        self._socket.setsockopt(zmq.RCVHWM, 0)
        # The same name after a connection was lost: the controller knows it again.
        self._socket.setsockopt(zmq.ROUTING_ID, uuid4().bytes)
        self._socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
        self._socket.setsockopt(zmq.TCP_KEEPALIVE_IDLE, KEEPALIVE_S)
        self._is_connected = False
        self._events = self._socket.get_monitor_socket(zmq.EVENT_CONNECTED | zmq.EVENT_DISCONNECTED)
        try:
            self._socket.connect(address)
        except zmq.ZMQError as problem:
            self.close()
            raise InputError(
                f"The controller's address {address!r} cannot be connected to: {problem}. Give it as tcp://host:port."
            ) from problem

    @property
    def is_connected(self) -> bool:
        """Whether the controller's process is there, as far as is known."""
        while self._events.poll(0):
            self._is_connected = recv_monitor_message(self._events)["event"] == zmq.EVENT_CONNECTED
        return self._is_connected

    def send(self, message: FromWorker) -> None:
        """Say something; it is on its way when this returns."""
        self._socket.send(encode(message))

    def next(self, seconds: Seconds) -> FromController | None:
        """The next message, waited for so long; None where none came."""
        if not self._socket.poll(max(0, round(1000 * seconds))):
            return None
        return FROM_CONTROLLER.read(self._socket.recv())

    def waiting(self) -> Iterator[FromController]:
        """What has come so far."""
        while (message := self.next(0.0)) is not None:
            yield message

    def close(self) -> None:
        """Hang up; what was said last is still sent."""
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
