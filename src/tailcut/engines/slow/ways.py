"""Ways to spend a delay: asleep, computing, or in a C call that keeps Python's lock."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import TypeAlias

from tailcut.errors import UnknownNameError
from tailcut.types import Seconds

Way: TypeAlias = Callable[[Seconds], None]
"""Function that delays its caller by a number of seconds."""

ONE_CALL: Seconds = 0.3
"""Longest single call that keeps the lock, in seconds."""


def sleep(seconds: Seconds) -> None:
    """Wait as for a slow disk or network: the processor is free, and so are other threads."""
    time.sleep(seconds)


def burn(seconds: Seconds) -> None:
    """Compute for nothing, as an unusually hard mini-batch would."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(100))


def gil(seconds: Seconds) -> None:
    """Stay in C calls that keep Python's lock, so that no other thread of the process gets a turn meanwhile."""
    usleep = ctypes.PyDLL(None).usleep
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0.0:
        usleep(int(1e6 * min(left, ONE_CALL)) + 1)


WAYS: dict[str, Way] = {"sleep": sleep, "burn": burn, "gil": gil}
"""Ways by name; the first line of each docstring says which kind of delay it resembles."""


def way(name: str) -> Way:
    """Return the way of a name.

    Raises:
        UnknownNameError: there is none of that name.
    """
    if name not in WAYS:
        raise UnknownNameError("way to be slow", name, WAYS)
    return WAYS[name]
