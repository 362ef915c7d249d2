"""Tell the user about workers that do not start, at first or after all have died, and fail in the end."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import final

from tailcut.engines.servers.failures import ServersError
from tailcut.types import Seconds, WorkerId

SOON: Seconds = 20.0
"""Seconds after which the user is told which workers are missing."""


@final
class Waiting:
    """The wait for the workers of a run, with its timeout.

    Args:
        workers: number of workers that were asked for.
        patience: timeout in seconds.
        say: called once, with the missing workers.
        clock: returns the time in seconds.
    """

    def __init__(
        self, workers: int, patience: Seconds, say: Callable[[str], None], clock: Callable[[], Seconds]
    ) -> None:
        self._workers, self._patience, self._say, self._clock = workers, patience, say, clock
        self._since: Seconds | None = None
        self._told = False

    def over(self) -> None:
        """End the wait: enough workers are there."""
        self._since, self._told = None, False

    def look(self, there: Collection[WorkerId]) -> None:
        """Begin or continue the wait, given the workers that are there.

        Raises:
            ServersError: the timeout has passed.
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
