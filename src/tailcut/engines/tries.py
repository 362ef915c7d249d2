"""How often one version is tried: a net that has diverged has no finite gradient, however often it is asked."""

from __future__ import annotations

from typing import final

MOST_TRIES = 100
"""Rounds of one version whose gradients were all not finite. Scales of mixed precision find their place in fewer."""


@final
class Tries:
    """Of the version that is trained.

    Example:
        >>> tries = Tries()
        >>> [tries.opened(0), tries.opened(1), tries.opened(1)]
        [None, None, None]
    """

    def __init__(self) -> None:
        self._version: int | None = None
        self._count = 0

    def opened(self, version: int) -> str | None:
        """A round of a version opens; why the run cannot go on, None where it can."""
        self._count = self._count + 1 if version == self._version else 1
        self._version = version
        if self._count <= MOST_TRIES:
            return None
        return (
            f"No gradient of version {version} was finite in {MOST_TRIES} attempts: the net has diverged. "
            "Go back to a checkpoint and lower the learning rate, or clip."
        )
