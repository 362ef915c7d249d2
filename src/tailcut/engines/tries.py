"""Limit on the attempts at one version: a net that has diverged yields no finite gradient in any of them."""

from __future__ import annotations

from typing import final

MOST_TRIES = 100
"""Most rounds of one version without a finite gradient. Loss scaling of mixed precision settles in fewer."""


@final
class Tries:
    """The number of rounds that were opened for the current version.

    Example:
        >>> tries = Tries()
        >>> [tries.opened(0), tries.opened(1), tries.opened(1)]
        [None, None, None]
    """

    def __init__(self) -> None:
        self._version: int | None = None
        self._count = 0

    def opened(self, version: int) -> str | None:
        """Count a round of a version; return why the run cannot go on, as a sentence; None if it can."""
        self._count = self._count + 1 if version == self._version else 1
        self._version = version
        if self._count <= MOST_TRIES:
            return None
        return (
            f"No gradient of version {version} was finite in {MOST_TRIES} attempts: the net has diverged. "
            "Go back to a checkpoint and lower the learning rate, or clip."
        )
