"""The learnt state of the policy, kept in a file for a replacement controller."""

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
"""Shortest time between two saves, in seconds."""


@final
class Learnt(Listener):
    """A listener that keeps the policy's state in a file, and begins with the state that is there.

    A thread writes it: workers wait for the controller, which is not to wait for the disk.

    Args:
        file: file of the newest state; the one before is kept beside it.
        policy: policy whose state it is.
        rounds: rounds that the policy decides; they begin with the state that is there.
        say: is called with sentences for the user, from that thread too.
        name: the policy's name, for messages; empty where it has none.
    """

    def __init__(
        self, file: Path, policy: Policy, rounds: Rounds, say: Callable[[str], None], name: str = ""
    ) -> None:
        self._file, self._say, self._name = file, say, name
        self._next, self._rounds, self._kept = 0.0, 0, 0
        self._writer = ThreadPoolExecutor(1, "tailcut-learnt")
        self._write: Future[None] | None = None
        # Used by the writer's thread only:
        self._has_failed = False
        found = kept_learnt(file, policy, say, name)
        if found is not None:
            rounds.state = found

    def round(self, record: RoundRecord) -> None:
        """Note that there is a new state to save."""
        self._rounds += 1

    def settled(self, settle: Settle) -> None:
        """Do nothing: the state is saved after rounds."""

    def look(self, standing: Standing, now: Seconds) -> None:
        """Save the state, if a round has closed since the last save and that was not just before."""
        if now >= self._next and (self._write is None or self._write.done()):
            self._next = now + EVERY
            self._keep(standing)

    def end(self, standing: Standing, now: Seconds) -> None:
        """Save the last state: the run may be resumed, for more updates."""
        self._keep(standing)
        self.give_up()

    def give_up(self) -> None:
        """Wait until the state is written, so that a replacement controller finds it."""
        self._writer.shutdown()

    def _keep(self, standing: Standing) -> None:
        if self._kept != self._rounds:
            self._kept = self._rounds
            self._write = self._writer.submit(self._written, standing.learnt)

    def _written(self, state: PolicyState) -> None:
        """Write a state, in the thread; a failure is told once, and the next state is tried in its turn."""
        try:
            keep_learnt(self._file, state, self._name)
            self._has_failed = False
        except (InputError, TypeError) as problem:
            if not self._has_failed:
                self._say(f"What the policy has learnt is not kept: {problem}")
            self._has_failed = True
