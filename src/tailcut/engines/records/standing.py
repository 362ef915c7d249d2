"""How a run stands, as its engine tells those who record it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, final

from tailcut.policy import PolicyState
from tailcut.types import Seconds, WorkerId


@final
@dataclass(frozen=True, slots=True)
class At:
    """What one worker does.

    Attributes:
        worker: its place.
        host, process: where it runs. node: the number of its machine.
        doing: `starts`, `computes`, `waits`, `reduces`, `drops` or `left`.
        version: that it does so at, or goes to.
        heard: the engine's seconds at which it was last heard of.
    """

    worker: WorkerId
    host: str
    process: int
    node: int
    doing: str
    version: int
    heard: Seconds


class Standing(Protocol):
    """A run, as seen from outside."""

    @property
    def version(self) -> int:
        """Of the newest parameters."""

    @property
    def over(self) -> bool:
        """Whether it has ended."""

    @property
    def why(self) -> str | None:
        """It failed; None where it did not."""

    @property
    def has_begun(self) -> bool:
        """Whether all who take part are there."""

    @property
    def learnt(self) -> PolicyState:
        """What the policy has learnt."""

    @property
    def workers(self) -> Sequence[At]:
        """What each does."""
