"""Heartbeats on connections: whoever is stopped, or cut off, closes nothing, and must be found out."""

from __future__ import annotations

import zmq

EVERY_MS = 3000
"""Between two of them, where nothing else is said."""
CUT_OFF_MS = 15_000
"""Of silence after which a connection counts as broken. Who is stopped for less is merely late."""


def watch_connections(socket: zmq.Socket[bytes]) -> None:
    """Notice, on either side, when the other is not there any more.

    The system's threads see to it, so whoever computes, or holds the interpreter's lock, is heard all the same.
    """
    socket.setsockopt(zmq.HEARTBEAT_IVL, EVERY_MS)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, CUT_OFF_MS)
    socket.setsockopt(zmq.HEARTBEAT_TTL, CUT_OFF_MS)
