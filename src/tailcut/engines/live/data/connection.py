"""A connection to one worker that holds updates: whether it is up, what was asked over it, and whether data comes."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import final

import zmq
from zmq.utils.monitor import recv_monitor_message

from tailcut.engines.live.keys import SEALED, Key, secured_client
from tailcut.engines.live.messages import Pull
from tailcut.engines.live.wire import encode

MAX_UNREAD = 16
"""Most answers that wait to be read."""
_BROKEN = zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED | zmq.EVENT_CONNECT_RETRIED
_WATCHED = zmq.EVENT_CONNECTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | _BROKEN
_TCP_INFO: int | None = getattr(socket, "TCP_INFO", None)
# Offset of the field `tcpi_bytes_received` in Linux's `struct tcp_info`, which has it since 4.1.
_RECEIVED_AT = 128

SEES_PROGRESS = _TCP_INFO is not None and os.uname().sysname == "Linux"
"""True where the system tells how many bytes of an incomplete message have come."""


@final
class Connection:
    """A connection to one holder of updates; it reconnects by itself.

    Args:
        context: ZeroMQ's context of the sockets.
        address: address of the holder.
        key: key of the run; None where it has none.
        most_bytes: largest frame of an answer, in bytes.
        is_queued: whether requests wait in a queue until there is a connection.

    Attributes:
        is_broken: whether the holder refused the last attempt to connect, or the connection was lost since.
        pending: versions that were asked for over this connection, and not answered yet.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        address: str,
        key: Key | None,
        most_bytes: int,
        is_queued: bool = False,
    ) -> None:
        self.is_broken = False
        self.pending: set[int] = set()
        self._tcp: socket.socket | None = None
        self.socket = context.socket(zmq.DEALER)
        # With IMMEDIATE, requests are taken only while the holder is connected.
        self.socket.setsockopt(zmq.IMMEDIATE, int(not is_queued))
        secured_client(self.socket, key)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.IPV6, int("[" in address))
        self.socket.setsockopt(zmq.MAXMSGSIZE, most_bytes + SEALED)
        self.socket.setsockopt(zmq.RCVHWM, MAX_UNREAD)
        self.events = self.socket.get_monitor_socket(_WATCHED)
        self.socket.connect(address)

    @property
    def received(self) -> int:
        """Return the bytes that have come over this connection; always 0 where the system does not tell."""
        if self._tcp is None or _TCP_INFO is None:
            return 0
        try:
            told = self._tcp.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _RECEIVED_AT + 8)
        except OSError:
            return 0
        found: int = struct.unpack_from("Q", told, _RECEIVED_AT)[0] if len(told) >= _RECEIVED_AT + 8 else 0
        return found

    def look(self) -> None:
        """Take in the events of the connection since the last look."""
        while self.events.poll(0):
            event = recv_monitor_message(self.events)
            if event["event"] == zmq.EVENT_CONNECTED:
                self._trace(int(event["value"]))
            elif event["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self.is_broken = False
            else:
                self.is_broken = True
                self.pending.clear()
                self._untrace()

    def ask(self, asked: Pull) -> bool:
        """Send a request, unless it was sent already; False while there is no connection."""
        if asked.version in self.pending:
            return True
        try:
            self.socket.send(encode(asked), zmq.NOBLOCK)
        except zmq.Again:
            return False
        self.pending.add(asked.version)
        return True

    def read(self) -> Sequence[zmq.Frame] | None:
        """Return the frames of the next answer; None while there is none."""
        try:
            return self.socket.recv_multipart(zmq.NOBLOCK, copy=False)
        except zmq.Again:
            return None

    def close(self) -> None:
        """Close the connection; answers under way are lost."""
        self._untrace()
        self.socket.disable_monitor()
        self.events.close(0)
        self.socket.close(0)

    def _trace(self, descriptor: int) -> None:
        """Keep a descriptor of the TCP connection, to see its progress."""
        self._untrace()
        if SEES_PROGRESS:
            with suppress(OSError):  # it is closed already
                self._tcp = socket.socket(fileno=os.dup(descriptor))

    def _untrace(self) -> None:
        if self._tcp is not None:
            self._tcp.close()
            self._tcp = None
