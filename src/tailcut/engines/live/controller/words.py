"""Phrases for sentences that people read."""

from __future__ import annotations

from collections.abc import Sequence

from tailcut.types import Seconds, WorkerId

MOST_NAMED = 6
"""Workers that a sentence names one by one; of more it says how many."""


def workers(ids: Sequence[WorkerId]) -> str:
    """Workers by number.

    Example:
        >>> workers([3]), workers([0, 1, 4]), workers(range(9))
        ('worker 3', 'workers 0, 1 and 4', 'workers 0, 1, 2, 3, 4 and 4 others')
    """
    if len(ids) == 1:
        return f"worker {ids[0]}"
    if len(ids) > MOST_NAMED:
        first, last = ids[: MOST_NAMED - 1], f"{len(ids) - MOST_NAMED + 1} others"
    else:
        first, last = ids[:-1], str(ids[-1])
    return f"workers {', '.join(map(str, first))} and {last}"


def seconds(value: Seconds) -> str:
    """A duration.

    Example:
        >>> seconds(61.04), seconds(0.25)
        ('61 s', '0.25 s')
    """
    return f"{value:.0f} s" if value >= 10.0 else f"{value:.3g} s"


def short(text: str, most: int = 60) -> str:
    """The text, its middle left out where it is long."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"
