"""What the policy has learnt, kept in a file for a controller that may have to take this one's place."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import final

from tailcut.engines.records.kept import keep_learnt, kept_learnt
from tailcut.engines.records.listener import Listener
from tailcut.engines.records.standing import Standing
from tailcut.errors import InputError
from tailcut.events import Settle
from tailcut.policy import Policy, PolicyState
from tailcut.round import Rounds
from tailcut.types import RoundRecord, Seconds

EVERY: Seconds = 1.0
"""Between two savings."""


@final
class Learnt(Listener):
    """Keeps the policy's state in a file, and begins with the one that is there.

    It is written in a thread: workers wait for the controller, and it is not to wait for the disk.

    Args:
        file: where; the one before it is kept beside it.
        policy: whose state it is.
        rounds: that it decides; they begin with what was learnt before.
        say: is told sentences for the user, from that thread too.
        name: the policy's, for messages; empty where it has none.
    """

    def __init__(
        self, file: Path, policy: Policy, rounds: Rounds, say: Callable[[str], None], name: str = ""
    ) -> None:
        self._file, self._say, self._name = file, say, name
        self._next, self._rounds, self._kept = 0.0, 0, 0
        self._writer = ThreadPoolExecutor(1, "tailcut-learnt")
        self._write: Future[None] | None = None
        # Of the writer's thread:
        self._has_failed = False
        found = kept_learnt(file, policy, say, name)
        if found is not None:
            rounds.state = found

    def round(self, record: RoundRecord) -> None:
        """There is something to learn."""
        self._rounds += 1

    def settled(self, settle: Settle) -> None:
        """Nothing to keep."""

    def look(self, standing: Standing, now: Seconds) -> None:
        """Keep the state, if it has changed and was not kept just before."""
        if now >= self._next and (self._write is None or self._write.done()):
            self._next = now + EVERY
            self._keep(standing)

    def end(self, standing: Standing, now: Seconds) -> None:
        """Keep what was learnt last: the run may be taken up again, for more updates."""
        self._keep(standing)
        self.give_up()

    def give_up(self) -> None:
        """What is being written is there when whoever comes next looks for it."""
        self._writer.shutdown()

    def _keep(self, standing: Standing) -> None:
        if self._kept != self._rounds:
            self._kept = self._rounds
            self._write = self._writer.submit(self._written, standing.learnt)

    def _written(self, state: PolicyState) -> None:
        """Write, in the thread; a failure is told once, and the next state is tried at its time."""
        try:
            keep_learnt(self._file, state, self._name)
            self._has_failed = False
        except (InputError, TypeError) as problem:
            if not self._has_failed:
                self._say(f"What the policy has learnt is not kept: {problem}")
            self._has_failed = True
