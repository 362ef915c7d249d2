"""When something came that is read late."""

from __future__ import annotations

from tailcut.types import Seconds


def in_time(now: Seconds, wake_at: Seconds | None) -> Seconds:
    """The moment to count for something that is read now, where a wake-up is due at `wake_at` (None: never).

    What came while the engine was busy counts as in time for a wake-up that has passed meanwhile: otherwise the first
    of several that wait to be read would close the round on the others.

    Example:
        >>> in_time(5.0, None), in_time(5.0, 4.0), in_time(5.0, 6.0)
        (5.0, 4.0, 5.0)
    """
    return now if wake_at is None else min(now, wake_at)
