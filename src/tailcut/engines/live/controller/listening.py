"""The controller's listening socket, with limits on its input; with a key only its holders can connect."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import zmq

from tailcut.engines.live.heartbeats import watch_connections
from tailcut.engines.live.keys import SEALED, Key, secured_server
from tailcut.engines.live.limits import BACKLOG, HANDSHAKE_MS, MOST_UNREAD
from tailcut.engines.live.wire import MOST_BYTES
from tailcut.errors import InputError

LAST_PORT = 65535
LINGER_MS = 2000
"""Milliseconds for which a controller that ends goes on sending its last messages."""

Router: TypeAlias = "zmq.Socket[bytes]"


@contextmanager
def listening(address: str, key: Key | None = None) -> Iterator[Router]:
    """Open a socket that listens on an address.

    Args:
        address: address as `tcp://host:port`; port 0 for any that is free.
        key: key of the run; None if any client may connect.

    Raises:
        InputError: the address cannot be listened on.
    """
    with zmq.Context() as context, _admitting(context, key) as router:
        router.setsockopt(zmq.LINGER, LINGER_MS)
        router.setsockopt(zmq.MAXMSGSIZE, MOST_BYTES + SEALED)
        router.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        router.setsockopt(zmq.BACKLOG, BACKLOG)
        watch_connections(router)
        # A worker that computes for long reads nothing meanwhile, and must find every message when it does.
        router.setsockopt(zmq.SNDHWM, 0)
        router.setsockopt(zmq.RCVHWM, MOST_UNREAD)
        router.setsockopt(zmq.ROUTER_HANDOVER, 1)
        try:
            _check_port(address)
            router.bind(address)
        except (zmq.ZMQError, ValueError) as problem:
            raise InputError(_cannot_listen(address, problem)) from problem
        yield router


@contextmanager
def _admitting(context: zmq.Context[Router], key: Key | None) -> Iterator[Router]:
    """Open a socket, and close it before its authenticator ends."""
    router = context.socket(zmq.ROUTER)
    with secured_server(router, key):
        try:
            yield router
        finally:
            router.close()


def _check_port(address: str) -> None:
    """Refuse impossible ports: zmq would take them for others."""
    port = address.rpartition(":")[2]
    if not (port.isdecimal() and int(port) <= LAST_PORT):
        raise ValueError(f"its port must be from 0 to {LAST_PORT}")


def _cannot_listen(address: str, problem: zmq.ZMQError | ValueError) -> str:
    if isinstance(problem, zmq.ZMQError) and problem.errno == errno.EADDRINUSE:
        return (
            f"The controller cannot listen on {address}: the port is in use, perhaps by another controller. "
            "Give another port, or 0 for any that is free."
        )
    return (
        f"The controller cannot listen on {address!r}: {problem}. Give it as tcp://host:port, of this host."
    )
