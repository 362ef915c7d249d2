"""Measure a training in virtual time between one evaluation of the net and the next."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tailcut.engines.simulated.replay import record_idle
from tailcut.types import FloatArray, IntArray, Measured, Seconds
from tailcut.work import Update


@dataclass(frozen=True, slots=True)
class Point:
    """One evaluation of the net, and the means of what happened since the one before.

    Attributes:
        seconds: virtual time at which these parameters were out.
        updates: number of updates so far.
        gradients: number of gradients accepted so far, partial ones counted by their share.
        figures: the task's figures.
        train_loss: mean over updates of the loss of the accepted samples.
        cutoff: mean number of gradients in an update.
        rate: mean learning rate.
        staleness: mean number of rounds that a used gradient lagged behind.
        idle: share of the time that workers waited for others.
        noise: gradient noise scale in samples; None while unknown.
    """

    seconds: Seconds
    updates: int
    gradients: float
    figures: dict[str, float]
    train_loss: float
    cutoff: float
    rate: float
    staleness: float
    idle: float
    noise: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """The totals of a whole run.

    Attributes:
        seconds: virtual time at the end.
        updates: number of updates applied.
        gradients: number of gradients accepted, partial ones counted by their share.
        late: gradients that arrived and were not used.
        dropped: gradients that were begun and never arrived.
        idle: share of the time that workers waited for others.
        staleness: mean rounds that a used gradient lagged behind.
        accepted: `(workers,)` number of gradients used of each worker.
    """

    seconds: Seconds
    updates: int
    gradients: float
    late: int
    dropped: int
    idle: float
    staleness: float
    accepted: IntArray


@dataclass(slots=True)
class _Sums:
    """Sums over updates."""

    updates: int = 0
    gradients: float = 0.0
    counted: int = 0
    loss: float = 0.0
    rate: float = 0.0
    staleness: float = 0.0
    waited: Seconds = 0.0
    paid: Seconds = 0.0

    def add(self, update: Update, loss: float, rate: float, overhead: Seconds, refill: bool) -> None:
        record = update.record
        self.updates += 1
        self.gradients += record.value
        self.counted += len(update.accepted)
        self.loss += loss
        self.rate += rate
        self.staleness += float(record.staleness.sum())
        # A worker that starts another mini-batch at once is never idle.
        self.waited += 0.0 if refill else record_idle(record)
        self.paid += (update.closed - update.opened + overhead) * len(record.roster)


@dataclass(slots=True)
class Meter:
    """Adds up what happens in a run.

    Attributes:
        workers: largest number of workers.
        overhead: seconds between a close and the next opening.
        refill: whether a worker starts another mini-batch as soon as it arrived.
    """

    workers: int
    overhead: Seconds
    refill: bool
    _since: _Sums = field(default_factory=_Sums)
    _all: _Sums = field(default_factory=_Sums)
    _seconds: Seconds = 0.0
    _late: int = 0
    _dropped: int = 0
    _accepted: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self._accepted = np.zeros(self.workers)

    @property
    def gradients(self) -> float:
        """The number of gradients accepted so far, partial ones counted by their share."""
        return self._all.gradients

    @property
    def seconds(self) -> Seconds:
        """The virtual time at which the newest parameters were out, in seconds."""
        return self._seconds

    def add(self, update: Update, measured: Measured) -> None:
        """Add one update to the sums."""
        for sums in (self._since, self._all):
            sums.add(update, measured.loss, measured.rate, self.overhead, self.refill)
        self._seconds = update.closed + self.overhead
        self._late += len(update.late)
        self._dropped += len(update.dropped)
        np.add.at(self._accepted, update.record.roster.workers, update.record.accepted)

    def point(self, figures: dict[str, float], noise: float | None) -> Point:
        """Return the point of an evaluation made now, and begin the means anew."""
        since, self._since = self._since, _Sums()
        updates = max(since.updates, 1)
        return Point(
            seconds=self._seconds,
            updates=self._all.updates,
            gradients=self._all.gradients,
            figures=figures,
            train_loss=since.loss / updates,
            cutoff=since.gradients / updates,
            rate=since.rate / updates,
            staleness=since.staleness / max(since.counted, 1),
            idle=since.waited / since.paid if since.paid else 0.0,
            noise=noise,
        )

    def totals(self) -> Totals:
        """Return the totals of the run so far."""
        return Totals(
            seconds=self._seconds,
            updates=self._all.updates,
            gradients=self._all.gradients,
            late=self._late,
            dropped=self._dropped,
            idle=self._all.waited / self._all.paid if self._all.paid else 0.0,
            staleness=self._all.staleness / max(self._all.counted, 1),
            accepted=self._accepted.astype(np.int64),
        )
