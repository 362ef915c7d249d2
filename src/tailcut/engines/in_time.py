"""The time that counts for an event that is read late."""

from __future__ import annotations

from tailcut.types import Seconds


def in_time(now: Seconds, wake_at: Seconds | None) -> Seconds:
    """Return the time that counts for an event read now, if a wake-up is due at `wake_at` (None: never).

    An event that came while the engine was busy counts as in time for a wake-up that has passed meanwhile:
    otherwise the first of several unread events would close the round before the others are counted.

    Example:
        >>> in_time(5.0, None), in_time(5.0, 4.0), in_time(5.0, 6.0)
        (5.0, 4.0, 5.0)
    """
    return now if wake_at is None else min(now, wake_at)
