"""What workers computed, and which of it goes into an update."""

from __future__ import annotations

from dataclasses import dataclass

from tailcut.types import RoundRecord, Seconds, WorkerId


@dataclass(frozen=True, slots=True)
class Work:
    """One mini-batch at one worker.

    Attributes:
        worker: who computes it.
        version: of the parameters it is computed at.
        number: which of the worker's mini-batches.
    """

    worker: WorkerId
    version: int
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """A closed round, as whoever applies its gradients sees it.

    Attributes:
        record: of the round.
        opened: the clock's seconds at which this version's round was first open.
        closed: the clock's seconds at the close.
        accepted: what goes into the update, in the order of arrival.
        shares: part of its mini-batch that each of them covers.
        started: begun since the last update, whatever became of it.
        dropped: ended since the last update without arriving: abandoned or lost.
        late: arrived since the last update in vain.
    """

    record: RoundRecord
    opened: Seconds
    closed: Seconds
    accepted: tuple[Work, ...]
    shares: tuple[float, ...]
    started: tuple[Work, ...]
    dropped: tuple[Work, ...]
    late: tuple[Work, ...]
