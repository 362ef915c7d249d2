"""What the policy has learnt, kept in a file for a controller that may have to take this one's place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import final

from tailcut.engines.records.listener import Listener
from tailcut.engines.records.standing import Standing
from tailcut.errors import InputError
from tailcut.events import Settle
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.saved import load_state, save_state
from tailcut.types import RoundRecord, Seconds

EVERY: Seconds = 1.0
"""Between two savings."""


@final
class Learnt(Listener):
    """Keeps the policy's state in a file, and begins with the one that is there.

    Args:
        file: where.
        policy: whose state it is.
        rounds: that it decides; they begin with what was learnt before.
        say: is told sentences for the user.
    """

    def __init__(self, file: Path, policy: Policy, rounds: Rounds, say: Callable[[str], None]) -> None:
        self._file, self._say = file, say
        self._next, self._rounds, self._kept = 0.0, 0, 0
        if file.exists():
            try:
                rounds.state = load_state(file, policy)
            except InputError as problem:
                say(f"The policy begins anew: {problem}")

    def round(self, record: RoundRecord) -> None:
        """There is something to learn."""
        self._rounds += 1

    def settled(self, settle: Settle) -> None:
        """Nothing to keep."""

    def look(self, standing: Standing, now: Seconds) -> None:
        """Keep the state, if it has changed and was not kept just before."""
        if now < self._next or self._kept == self._rounds:
            return
        self._next, self._kept = now + EVERY, self._rounds
        try:
            # Without waiting for the disk: workers wait for the controller.
            save_state(self._file, standing.learnt, lasting=False)
        except (InputError, TypeError) as problem:
            self._say(f"What the policy has learnt is not kept: {problem}")
            self._next = float("inf")

    def end(self, standing: Standing, now: Seconds) -> None:
        """It is of no use any more."""

    def give_up(self) -> None:
        """Nothing is held."""
