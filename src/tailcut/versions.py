"""The version of the parameters that is awaited or out, and the overhead from a close to the next opening."""

from __future__ import annotations

from dataclasses import dataclass, field

from tailcut.types import Seconds

MEASURED_OVER = 16
"""Rounds over which the overhead between a close and the next opening is averaged."""


@dataclass(slots=True)
class Versions:
    """The order of the parameters of one run.

    Attributes:
        ready: version that is out and whose round is not open, None where there is none.
    """

    ready: int | None = None
    _newest: int = field(default=-1, init=False)
    _closed: Seconds | None = field(default=None, init=False)

    def applied(self, version: int) -> bool:
        """Record that parameters are out, while no round is open; return whether they were awaited."""
        # Only the version after the closed one can be out; a run may begin with any version.
        awaited = version > self._newest if self._closed is None else version == self._newest + 1
        if self.ready is not None or not awaited:
            return False
        self.ready = self._newest = version
        return True

    def measured(self, overhead: Seconds, now: Seconds) -> Seconds:
        """Return the mean overhead in seconds with parameters out at `now`; `overhead` is the mean before."""
        if self._closed is None:
            return overhead
        return overhead + (now - self._closed - overhead) / MEASURED_OVER

    def closed(self, now: Seconds) -> None:
        """Record that a round has closed, so that the next version is awaited."""
        self._closed = now
