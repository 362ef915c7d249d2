"""Record what each worker does, its jobs begun and its idle time. Pure: time is an argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tailcut.engines.records.standing import At
from tailcut.engines.servers.actors import Hello
from tailcut.types import Seconds, WorkerId


@dataclass(slots=True)
class _Line:
    """The record of one worker."""

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
    """The records of all workers that ever joined."""

    def __init__(self) -> None:
        self._lines: dict[WorkerId, _Line] = {}
        self._nodes: dict[str, int] = {}

    @property
    def there(self) -> dict[WorkerId, int]:
        """The workers that have not left, by increasing id, and the number of each one's machine."""
        return {w: line.node for w, line in sorted(self._lines.items()) if line.doing != "left"}

    @property
    def standing(self) -> list[At]:
        """The current activity of each worker, for those that record the run."""
        return [
            At(w, line.hello.host, line.hello.process, line.node, line.doing, line.version, line.heard)
            for w, line in sorted(self._lines.items())
        ]

    @property
    def begun(self) -> int:
        """The number of jobs begun, by all workers together."""
        return sum(line.begun for line in self._lines.values())

    @property
    def idle(self) -> tuple[Seconds, ...]:
        """The seconds that each worker was idle between jobs, by increasing id."""
        return tuple(line.idle for _, line in sorted(self._lines.items()))

    def joins(self, worker: WorkerId, hello: Hello, now: Seconds) -> int:
        """Record that a worker has joined, or joined again; return the number of its machine."""
        node = self._nodes.setdefault(hello.node, len(self._nodes))
        before = self._lines.get(worker)
        line = self._lines[worker] = _Line(hello, node, now)
        if before is not None:
            line.begun, line.idle = before.begun, before.idle
        return node

    def leaves(self, worker: WorkerId, now: Seconds) -> None:
        """Record that a worker is gone."""
        line = self._lines.get(worker)
        if line is not None:
            line.doing, line.heard, line.since = "left", now, None

    def begins(self, worker: WorkerId, version: int, now: Seconds) -> None:
        """Record that a worker was sent a job."""
        line = self._lines[worker]
        line.doing, line.version, line.begun = "computes", version, line.begun + 1
        if line.since is not None:
            line.idle += now - line.since
            line.since = None

    def drops(self, worker: WorkerId) -> None:
        """Record that a worker was told to drop its job."""
        self._lines[worker].doing = "drops"

    def waits(self, worker: WorkerId, now: Seconds) -> None:
        """Record that a worker is done with its job and idle."""
        line = self._lines[worker]
        line.doing, line.heard, line.since = "waits", now, now
