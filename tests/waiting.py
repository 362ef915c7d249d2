"""Waiting in tests: for an event, within a limit that follows the pace of the machine.

A limit only decides how long a failure takes to show, so every limit is generous; what a test asserts is an event, an
order or a count. A limit that is a number of seconds is too short on a machine that is slow or busy, so `limit`
multiplies it by the pace: how many times slower than an idle, ordinary machine this one runs a fixed computation now.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

STEPS = 1_500_000
"""Iterations of the fixed computation."""
ORDINARY = 0.03
"""Seconds that an idle, ordinary machine takes for the fixed computation."""
MAX_PACE = 20.0
"""Largest factor by which a limit grows."""
MEASURE_EVERY = 20.0
"""Seconds after which the pace is measured again."""
POLL = 0.01
"""Seconds between two looks at a condition."""

_pace = 1.0
_measured: float | None = None


def pace() -> float:
    """Return how many times slower than an ordinary, idle machine this one is; at least 1.

    The figure falls slowly: a machine that was busy a moment ago is likely to be busy again.
    """
    global _pace, _measured
    if _measured is None or time.monotonic() - _measured > MEASURE_EVERY:
        began = time.monotonic()
        for _ in range(STEPS):
            pass
        _measured = time.monotonic()
        _pace = min(MAX_PACE, max(1.0, (_measured - began) / ORDINARY, _pace / 2))
    return _pace


def limit(seconds: float) -> float:
    """Return after how many seconds a test gives up waiting for what an ordinary machine does within `seconds`."""
    return seconds * pace()


def until(look: Callable[[], Found], what: str, seconds: float = 60.0) -> Found:
    """Wait until `look()` is true, and return what it returned; fail with `what` was awaited after `limit(seconds)`."""
    ends = time.monotonic() + limit(seconds)
    while not (found := look()):
        assert time.monotonic() < ends, f"{what}: not within {limit(seconds):.0f} s"
        time.sleep(POLL)
    return found
