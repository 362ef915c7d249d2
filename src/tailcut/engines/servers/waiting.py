"""Whoever waits for workers that do not come, at first or after all have died, is told so, and in the end given up."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import final

from tailcut.engines.servers.failures import ServersError
from tailcut.types import Seconds, WorkerId

SOON: Seconds = 20.0
"""Seconds after which it is said who is missing."""


@final
class Waiting:
    """For the workers of a run.

    Args:
        workers: that were asked for.
        patience: seconds.
        say: is told who is missing, once.
        clock: seconds.
    """

    def __init__(
        self, workers: int, patience: Seconds, say: Callable[[str], None], clock: Callable[[], Seconds]
    ) -> None:
        self._workers, self._patience, self._say, self._clock = workers, patience, say, clock
        self._since: Seconds | None = None
        self._told = False

    def over(self) -> None:
        """Enough are there."""
        self._since, self._told = None, False

    def look(self, there: Collection[WorkerId]) -> None:
        """See who has come.

        Raises:
            ServersError: it has taken too long.
        """
        now = self._clock()
        self._since = now if self._since is None else self._since
        waited = now - self._since
        missing = [str(worker) for worker in range(self._workers) if worker not in there]
        who = (
            f"{len(missing)} of {self._workers} workers ({', '.join(missing[:8])}{' …' * (len(missing) > 8)})"
        )
        what = "Every worker and server asks for one processor, unless told otherwise; `ray status` tells who has one."
        if waited > self._patience:
            raise ServersError(
                f"After {waited:.0f} s {who} are not there. {what} Take fewer of them, or a larger cluster."
            )
        if waited > SOON and not self._told:
            self._told = True
            self._say(f"Waits for {who}. {what}")
