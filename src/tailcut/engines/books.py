"""Who computes which mini-batch in virtual time, from its start to its fate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final

from tailcut.events import CloseRound, Settle
from tailcut.types import Fate, Seconds, WorkerId
from tailcut.work import Update, Work


class Jobs(ABC):
    """Which mini-batch a worker takes next, and how long it is."""

    @abstractmethod
    def begin(self, worker: WorkerId, row: int) -> tuple[int, float]:
        """A worker starts: the number of its mini-batch, and its length as a multiple of the table's run time."""

    @abstractmethod
    def dropped(self, work: Work) -> None:
        """A mini-batch was begun in vain."""


@final
class InOrder(Jobs):
    """The mini-batch that belongs to the row, of usual length; what is dropped is gone."""

    def begin(self, worker: WorkerId, row: int) -> tuple[int, float]:
        """The row's own."""
        del worker
        return row, 1.0

    def dropped(self, work: Work) -> None:
        """Gone."""
        del work


class Books:
    """Who computes what, from start to fate."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._running: dict[WorkerId, Work] = {}
        self._arrived: dict[tuple[WorkerId, int], list[Work]] = {}
        self._started: list[Work] = []
        self._dropped: list[Work] = []
        self._late: list[Work] = []

    def start(self, work: Work) -> None:
        """A worker begins."""
        self._running[work.worker] = work
        self._started.append(work)

    def arrive(self, worker: WorkerId, version: int) -> None:
        """A worker is done, unless it was told to stop before."""
        work = self._running.get(worker)
        if work is not None and work.version == version:
            del self._running[worker]
            self._arrived.setdefault((worker, version), []).append(work)

    def stop(self, worker: WorkerId) -> None:
        """A worker drops what it computes, or is gone with it."""
        work = self._running.pop(worker, None)
        if work is not None:
            self._dropped.append(work)
            self._jobs.dropped(work)

    def settle(self, command: Settle) -> None:
        """What arrived outside its own round was used, or came in vain."""
        if command.fate is not Fate.USED and (command.worker, command.version) in self._arrived:
            self._late.append(self._take(command.worker, command.version, -1))
            self._jobs.dropped(self._late[-1])

    def close(self, command: CloseRound, opened: Seconds, now: Seconds) -> Update:
        """A round has closed: what it took, and all that began and ended since the one before."""
        for worker in command.abandon:
            self.stop(worker)
        accepted = tuple(self._take(one.worker, one.version) for one in command.accepted)
        shares = tuple(one.share for one in command.accepted)
        begun = tuple(self._started), tuple(self._dropped), tuple(self._late)
        self._started, self._dropped, self._late = [], [], []
        return Update(command.record, opened, now, accepted, shares, *begun)

    def _take(self, worker: WorkerId, version: int, place: int = 0) -> Work:
        """One of those that wait; of workers with none left nothing is kept."""
        waiting = self._arrived[worker, version]
        work = waiting.pop(place)
        if not waiting:
            del self._arrived[worker, version]
        return work
