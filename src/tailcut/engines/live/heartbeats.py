"""Heartbeats on connections: a peer that is stopped or cut off closes nothing, and must be detected."""

from __future__ import annotations

import zmq

EVERY_MS = 3000
"""Milliseconds between two heartbeats."""
CUT_OFF_MS = 15_000
"""Milliseconds of silence after which a connection counts as broken. A shorter stop is only a delay."""


def watch_connections(socket: zmq.Socket[bytes]) -> None:
    """Make either side of a socket's connections detect that the other one does not respond any more.

    ZeroMQ's own threads do so, even while a worker computes or holds the interpreter's lock.
    """
    socket.setsockopt(zmq.HEARTBEAT_IVL, EVERY_MS)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, CUT_OFF_MS)
    socket.setsockopt(zmq.HEARTBEAT_TTL, CUT_OFF_MS)
