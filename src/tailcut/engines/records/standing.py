"""The current state of a run, as its engine tells it to listeners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, final

from tailcut.policy import PolicyState
from tailcut.types import Seconds, WorkerId


@final
@dataclass(frozen=True, slots=True)
class At:
    """The activity of one worker.

    Attributes:
        worker: its place, from 0.
        host, process: host name and process id of the worker. node: the number of its machine.
        doing: `starts`, `computes`, `waits`, `reduces`, `drops` or `left`.
        version: version that it does so at, or goes to.
        heard: time of its last message, in seconds of the engine's clock.
    """

    worker: WorkerId
    host: str
    process: int
    node: int
    doing: str
    version: int
    heard: Seconds


class Standing(Protocol):
    """The current state of a run, as seen from outside."""

    @property
    def version(self) -> int:
        """Return the version of the newest parameters."""

    @property
    def over(self) -> bool:
        """Return whether the run has ended."""

    @property
    def why(self) -> str | None:
        """Return why the run failed; None where it did not."""

    @property
    def has_begun(self) -> bool:
        """Return whether all workers that take part are there."""

    @property
    def learnt(self) -> PolicyState:
        """Return the learnt state of the policy."""

    @property
    def workers(self) -> Sequence[At]:
        """Return the activity of each worker."""
