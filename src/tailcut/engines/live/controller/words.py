"""Phrases for sentences that people read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from tailcut.types import Seconds, WorkerId

MOST_NAMED = 6
"""Most workers that a sentence names one by one; of further ones it says how many."""


def workers(ids: Sequence[WorkerId]) -> str:
    """Name workers by number.

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
    """Format a duration.

    Example:
        >>> seconds(61.04), seconds(0.25)
        ('61 s', '0.25 s')
    """
    return f"{value:.0f} s" if value >= 10.0 else f"{value:.3g} s"


def short(text: str, most: int = 60) -> str:
    """Return the text, without its middle if it has more than `most` characters."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def distinct(texts: Sequence[str], most: int = 60) -> list[str]:
    """Shorten texts so that each shows where it differs: words that all have at either end are left out of long ones.

    Example:
        >>> distinct(["SGD(dampening=0, lr=0.1, nesterov=False)", "SGD(dampening=0, lr=0.2, nesterov=False)"], 20)
        ['… lr=0.1, …', '… lr=0.2, …']
        >>> distinct(["SGD(lr=0.1)", "SGD(lr=0.2)"])
        ['SGD(lr=0.1)', 'SGD(lr=0.2)']
    """
    if max(map(len, texts)) <= most:
        return list(texts)
    words = [each.split(" ") for each in texts]
    begin = _alike(words)
    rest = [each[begin:] for each in words]
    end = _alike([each[::-1] for each in rest])
    middles = [" ".join(each[: len(each) - end]) for each in rest]
    return [f"{'… ' * (begin > 0)}{short(each, most)}{' …' * (end > 0)}" for each in middles]


def _alike(rows: Sequence[Sequence[str]]) -> int:
    """Count the words that all rows have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False)))
