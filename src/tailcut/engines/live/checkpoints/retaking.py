"""Takes a mini-batch again whose gradient was dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def retaking(batches: Iterable[T], dropped: Callable[[], bool]) -> Iterator[T]:
    """The same batches, each as often as it takes until it was not dropped.

    Nothing is asked of whoever makes the batches, so that it goes with loaders that read ahead.

    Args:
        batches: of one worker.
        dropped: whether what was computed with the batch that came last came to nothing.

    Example:
        >>> fates = iter([False, True, True, False, False])
        >>> list(retaking("abc", lambda: next(fates)))
        ['a', 'b', 'b', 'b', 'c']
    """
    for batch in batches:
        yield batch
        while dropped():
            yield batch
