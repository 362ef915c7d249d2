"""Mini-batches that workers compute, and updates made from their gradients."""

from __future__ import annotations

from dataclasses import dataclass

from tailcut.types import RoundRecord, Seconds, WorkerId


@dataclass(frozen=True, slots=True)
class Work:
    """One mini-batch at one worker.

    Attributes:
        worker: id of the worker that computes it.
        version: version of the parameters that it is computed at.
        number: number of the mini-batch among those of the worker.
    """

    worker: WorkerId
    version: int
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """A closed round, with what is needed to apply its gradients.

    Attributes:
        record: record of the round.
        opened: the clock's seconds at which this version's round was first open.
        closed: the clock's seconds at the close.
        accepted: work that goes into the update, in the order of arrival.
        shares: part of its mini-batch that each accepted gradient covers.
        started: work begun since the last update, whatever its fate.
        dropped: work that ended since the last update without arriving: abandoned or lost.
        late: work that arrived since the last update but was not used.
    """

    record: RoundRecord
    opened: Seconds
    closed: Seconds
    accepted: tuple[Work, ...]
    shares: tuple[float, ...]
    started: tuple[Work, ...]
    dropped: tuple[Work, ...]
    late: tuple[Work, ...]
