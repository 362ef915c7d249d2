"""Bookkeeping of mini-batches in virtual time: which worker computes which one, from start to fate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final

from tailcut.events import CloseRound, Settle
from tailcut.types import Fate, Seconds, WorkerId
from tailcut.work import Update, Work


class Jobs(ABC):
    """The choice of the mini-batch that a worker takes next, and of its length."""

    @abstractmethod
    def begin(self, worker: WorkerId, row: int) -> tuple[int, float]:
        """Start a mini-batch; return its number, and its length as a multiple of the table's run time."""

    @abstractmethod
    def dropped(self, work: Work) -> None:
        """Note that the gradient of a started mini-batch is not used."""


@final
class InOrder(Jobs):
    """The mini-batch that belongs to the row, at its usual length; a dropped one is not repeated."""

    def begin(self, worker: WorkerId, row: int) -> tuple[int, float]:
        """Return the row's number, and 1."""
        del worker
        return row, 1.0

    def dropped(self, work: Work) -> None:
        """Do nothing: a dropped mini-batch is not repeated."""
        del work


class Books:
    """The mini-batches of all workers, from start to fate."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._running: dict[WorkerId, Work] = {}
        self._arrived: dict[tuple[WorkerId, int], list[Work]] = {}
        self._started: list[Work] = []
        self._dropped: list[Work] = []
        self._late: list[Work] = []

    def start(self, work: Work) -> None:
        """Record that a worker starts a mini-batch."""
        self._running[work.worker] = work
        self._started.append(work)

    def arrive(self, worker: WorkerId, version: int) -> None:
        """Record that a worker has finished, unless it was told to stop before."""
        work = self._running.get(worker)
        if work is not None and work.version == version:
            del self._running[worker]
            self._arrived.setdefault((worker, version), []).append(work)

    def stop(self, worker: WorkerId) -> None:
        """Record that a worker drops what it computes, or leaves with it."""
        work = self._running.pop(worker, None)
        if work is not None:
            self._dropped.append(work)
            self._jobs.dropped(work)

    def settle(self, command: Settle) -> None:
        """Record a gradient as late if it was pending at the close of its round and is not used."""
        if command.fate is not Fate.USED and (command.worker, command.version) in self._arrived:
            self._late.append(self._take(command.worker, command.version, -1))
            self._jobs.dropped(self._late[-1])

    def close(self, command: CloseRound, opened: Seconds, now: Seconds) -> Update:
        """Close a round; return what it took, and the work started, dropped or late since the last close."""
        for worker in command.abandon:
            self.stop(worker)
        accepted = tuple(self._take(one.worker, one.version) for one in command.accepted)
        shares = tuple(one.share for one in command.accepted)
        begun = tuple(self._started), tuple(self._dropped), tuple(self._late)
        self._started, self._dropped, self._late = [], [], []
        return Update(command.record, opened, now, accepted, shares, *begun)

    def _take(self, worker: WorkerId, version: int, place: int = 0) -> Work:
        """Remove and return the mini-batch with index `place` of those a worker has finished at a version."""
        waiting = self._arrived[worker, version]
        work = waiting.pop(place)
        if not waiting:
            del self._arrived[worker, version]
        return work
