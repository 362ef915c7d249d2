"""What every worker does, how much it began, and how long it had nothing to do. Pure; time is an argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tailcut.engines.records.standing import At
from tailcut.engines.servers.actors import Hello
from tailcut.types import Seconds, WorkerId


@dataclass(slots=True)
class _Line:
    """One worker."""

    hello: Hello
    node: int
    heard: Seconds
    doing: str = "starts"
    version: int = 0
    begun: int = 0
    idle: Seconds = 0.0
    since: Seconds | None = None


@final
class Roster:
    """All workers that ever were there."""

    def __init__(self) -> None:
        self._lines: dict[WorkerId, _Line] = {}
        self._nodes: dict[str, int] = {}

    @property
    def there(self) -> dict[WorkerId, int]:
        """Who is there, increasing, and the number of each one's machine."""
        return {w: line.node for w, line in sorted(self._lines.items()) if line.doing != "left"}

    @property
    def standing(self) -> list[At]:
        """What each does, for those who record the run."""
        return [
            At(w, line.hello.host, line.hello.process, line.node, line.doing, line.version, line.heard)
            for w, line in sorted(self._lines.items())
        ]

    @property
    def begun(self) -> int:
        """Jobs that were begun."""
        return sum(line.begun for line in self._lines.values())

    @property
    def idle(self) -> tuple[Seconds, ...]:
        """Seconds that each had nothing to do between two jobs."""
        return tuple(line.idle for _, line in sorted(self._lines.items()))

    def joins(self, worker: WorkerId, hello: Hello, now: Seconds) -> int:
        """A worker is there, for the first time or again; the number of its machine."""
        node = self._nodes.setdefault(hello.node, len(self._nodes))
        before = self._lines.get(worker)
        line = self._lines[worker] = _Line(hello, node, now)
        if before is not None:
            line.begun, line.idle = before.begun, before.idle
        return node

    def leaves(self, worker: WorkerId, now: Seconds) -> None:
        """A worker is gone."""
        line = self._lines.get(worker)
        if line is not None:
            line.doing, line.heard, line.since = "left", now, None

    def begins(self, worker: WorkerId, version: int, now: Seconds) -> None:
        """A worker is sent a job."""
        line = self._lines[worker]
        line.doing, line.version, line.begun = "computes", version, line.begun + 1
        if line.since is not None:
            line.idle += now - line.since
            line.since = None

    def drops(self, worker: WorkerId) -> None:
        """A worker is told to drop its job."""
        self._lines[worker].doing = "drops"

    def waits(self, worker: WorkerId, now: Seconds) -> None:
        """A worker is done, and has nothing to do."""
        line = self._lines[worker]
        line.doing, line.heard, line.since = "waits", now, now
