"""Check within seconds whether a Ray head can be at an address: Ray itself would try for minutes."""

from __future__ import annotations

import os
import re
import socket
import time

from tailcut.errors import InputError, ParameterError
from tailcut.types import Seconds

REACH: Seconds = 5.0
"""Seconds in which a cluster's address must answer."""

_ADDRESS = re.compile(r"(?:\[([^\[\]]+)\]|([^\[\]]+)):([0-9]{1,5})")
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The opening bytes of every HTTP/2 client: the preface and a SETTINGS frame without settings."""
_SETTINGS, _HEADER = 4, 9
"""Type of the frame that a server must send first; bytes of a frame's header, the fourth is the type."""


def check_reachable(address: str | None, within: Seconds = REACH) -> None:
    """Check that a Ray head can be at an address.

    Args:
        address: as `host:port`; `auto` and None are Ray's own to find.
        within: seconds in which it must answer.

    Raises:
        ParameterError: the address is not valid.
        InputError: nothing answers there, or another kind of server does.
    """
    if address is None or address == "auto":
        return
    host, port = _parts(address)
    until = time.monotonic() + within
    try:
        with socket.create_connection((host, port), timeout=within) as connection:
            # With TLS a head cannot be told from other servers before it has seen a certificate.
            is_head = _has_tls() or _speaks_http2(connection, until)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"No cluster answers at {address} ({reason}). Give the address that ray start --head told, or leave "
            "--address out to start one here."
        ) from error
    if not is_head:
        raise InputError(
            f"Something answers at {address}, but it is no Ray head. Give the port that ray start --head told, 6379 "
            "unless it was told another; the dashboard has one of its own."
        )


def _parts(address: str) -> tuple[str, int]:
    """Return host and port; an IPv6 address may stand in brackets."""
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found[3]) < 65536:
        raise ParameterError(
            f"--address must be host:port of a cluster's head, or auto, but got {address!r}. ray start --head tells it."
        )
    return found[1] or found[2], int(found[3])


def _has_tls() -> bool:
    return os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true")


def _speaks_http2(connection: socket.socket, until: Seconds) -> bool:
    """Return whether the server answers an HTTP/2 greeting with a SETTINGS frame before `until`."""
    head = b""
    try:
        connection.sendall(_GREETING)
        while len(head) < _HEADER and (left := until - time.monotonic()) > 0.0:
            connection.settimeout(left)
            more = connection.recv(_HEADER - len(head))
            if not more:
                break
            head += more
    except OSError:
        return False
    return len(head) == _HEADER and head[3] == _SETTINGS and not any(head[5:])
