"""Limits on the silence of workers: longer after every worker that was suspected and had only been slow."""

from __future__ import annotations

from typing import final

from tailcut.engines.live.messages import SILENCE
from tailcut.types import Seconds, WorkerId

PATIENCE: Seconds = 0.8
"""Seconds that a worker in a reduction that others have given up has to answer before it is expelled."""
MAX_DOUBLINGS = 3
"""Most doublings of both limits: to 4.8 and 6.4 s."""
CALM = 100
"""Updates without a false alarm after which both limits are halved again."""


@final
class Suspicion:
    """The limits on silence in one run.

    A machine with more to do than it has cores leaves a healthy worker without a core for longer than the limits. To
    suspect that worker again and again costs more than to wait for it. A false alarm is a reduction that was given up
    although all of its workers answered in time, or the return of a worker soon after it was expelled. A worker that
    was away for longer than the longest limit is no false alarm: no limit would have kept it.

    Example:
        >>> limits = Suspicion()
        >>> limits.raise_limits(version=10)
        >>> limits.silence, limits.patience
        (1.2, 1.6)
        >>> limits.relax(version=110)
        >>> limits.silence
        0.6
    """

    def __init__(self) -> None:
        self._doublings = self._since = 0
        self._expelled: dict[WorkerId, Seconds] = {}

    @property
    def silence(self) -> Seconds:
        """Seconds of another worker's silence after which a reduction is given up."""
        return SILENCE * float(1 << self._doublings)

    @property
    def patience(self) -> Seconds:
        """Seconds that a worker in such a reduction has to answer before it is expelled."""
        return PATIENCE * float(1 << self._doublings)

    def raise_limits(self, version: int) -> None:
        """Double the limits after a false alarm at this version."""
        self._doublings, self._since = min(self._doublings + 1, MAX_DOUBLINGS), version

    def relax(self, version: int) -> None:
        """Halve the limits for every `CALM` updates that were made since they were last changed."""
        calm = max(0, version - self._since) // CALM
        self._doublings, self._since = max(0, self._doublings - calm), self._since + calm * CALM

    def expel(self, worker: WorkerId, now: Seconds) -> None:
        """Record that a worker is expelled."""
        self._expelled[worker] = now

    def is_back_soon(self, worker: WorkerId, now: Seconds) -> bool:
        """Return whether a worker that is back was expelled within the longest limit; forget that it was."""
        expelled = self._expelled.pop(worker, None)
        return expelled is not None and now - expelled <= PATIENCE * (1 << MAX_DOUBLINGS)
