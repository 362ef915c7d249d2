"""The state of a run in progress, as its journals and processes show it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from tailcut.testing.chaos.folder import Folder
from tailcut.testing.chaos.journals import Line, Tail
from tailcut.testing.chaos.processes import Process
from tailcut.types import Seconds, WorkerId

BEHIND = 4
"""Versions that a worker may be behind the newest and still count as taking part."""


@final
class View:
    """The view of one run.

    Args:
        folder: folder of the run.
        workers: number of workers.

    Attributes:
        newest: newest version that a worker has applied.
        moved: the clock's seconds at which this was first seen.
        controller: process id of the controller; None if there is none.
    """

    def __init__(self, folder: Folder, workers: int) -> None:
        self.newest, self.moved = 0, 0.0
        self.controller: int | None = None
        self._folder, self._workers = folder, workers
        self._tail = Tail(folder.journals)
        self._last: dict[WorkerId, _Last] = {}
        self._alive: dict[WorkerId, _Last] = {}

    def look(self, now: Seconds, controller: int | None, here: Iterable[Process]) -> None:
        """Update the view.

        Args:
            now: the clock's seconds.
            controller: process id of the controller; None if there is none.
            here: the run's present processes.
        """
        if controller is not None and controller != self.controller:
            self._folder.note_controller(controller)
        self.controller = controller
        for (worker, life), lines in self._tail.look().items():
            last = self._last.get(worker)
            if last is None or life > last.life:
                last = self._last[worker] = _Last(life, int(lines[0].more["pid"]))
            if life == last.life:
                last.version = max(last.version, *(_version(line) for line in lines))
                last.updates += sum(line.what == "applied" for line in lines)
        ours = {process.pid: process for process in here}
        self._alive = {
            worker: last
            for worker, last in self._last.items()
            if last.pid in ours and ours[last.pid].is_alive
        }
        newest = max((last.version for last in self._alive.values()), default=0)
        if newest > self.newest:
            self.newest, self.moved = newest, now
        self.moved = self.moved if self._last else now

    @property
    def pids(self) -> dict[WorkerId, int]:
        """The process ids of the workers that are alive."""
        return {worker: last.pid for worker, last in self._alive.items()}

    @property
    def updates(self) -> int:
        """The most updates that a worker that is alive has applied in its present life."""
        return max((last.updates for last in self._alive.values()), default=0)

    @property
    def versions(self) -> dict[WorkerId, int]:
        """The newest version that each worker that is alive has applied in its present life."""
        return {worker: last.version for worker, last in self._alive.items()}

    @property
    def taking_part(self) -> int:
        """The number of workers that are alive and at most `BEHIND` versions behind the newest."""
        return sum(each.version >= max(1, self.newest - BEHIND) for each in self._alive.values())

    @property
    def is_calm(self) -> bool:
        """Return whether the controller is there and all workers take part."""
        return self.controller is not None and self.taking_part == self._workers


@dataclass(slots=True)
class _Last:
    """The last life of a worker."""

    life: int
    pid: int
    version: int = 0
    updates: int = 0


def _version(line: Line) -> int:
    """Return the version that a worker applied; 0 for other lines."""
    return line.version if line.what == "applied" else 0
