"""Repeats a mini-batch whose gradient was dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def retaking(batches: Iterable[T], dropped: Callable[[], bool]) -> Iterator[T]:
    """Yield each batch, and repeat it until its gradient is not dropped.

    The source of the batches takes no part in it, so loaders that read ahead can be used.

    Args:
        batches: batches of one worker.
        dropped: returns whether the gradient of the last batch was dropped.

    Example:
        >>> fates = iter([False, True, True, False, False])
        >>> list(retaking("abc", lambda: next(fates)))
        ['a', 'b', 'b', 'b', 'c']
    """
    for batch in batches:
        yield batch
        while dropped():
            yield batch
