"""Running figures of a run: how often workers were accepted, its speed, and the time saved by not waiting."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import final

from tailcut.events import Settle
from tailcut.ledger import is_run_time
from tailcut.types import Fate, RoundRecord, Seconds, WorkerId

RECENT = 50
"""Most of the last rounds that rates are taken over."""


@dataclass(slots=True)
class Share:
    """The number of rounds that a worker took part in, and of those its gradient was used in."""

    rounds: int = 0
    accepted: int = 0


@dataclass(slots=True)
class _Unknown:
    """A closed round whose slowest worker may not be known.

    Attributes:
        longest: seconds that it would have lasted with all workers, as far as is known; no less than it did.
        pending: number of workers that will still report.
        never: whether a worker's run time will never be known.
    """

    longest: Seconds
    pending: int
    never: bool

    def reaches(self, seconds: Seconds) -> Seconds:
        """Take in a run time; return by how many seconds it makes the full round longer than was known."""
        more = max(seconds - self.longest, 0.0) if is_run_time(seconds) else 0.0
        self.longest += more
        return more


@final
class Tally:
    """Figures so far.

    Attributes:
        rounds: number of closed rounds.
        gradients: gradients used, partial ones by their share.
        shares: rounds of each worker.
        saved: seconds that waiting for all workers would have added to the closed rounds, as far as run times
            are known: a worker that was told to stop counts for the time that it had computed by then.
        unknown: rounds with a late worker whose run time is not known, so that more may have been saved.
    """

    def __init__(self) -> None:
        self.rounds, self.gradients = 0, 0.0
        self.shares: dict[WorkerId, Share] = {}
        self.saved: Seconds = 0.0
        self.unknown = 0
        self._recent: deque[RoundRecord] = deque(maxlen=RECENT)
        self._pending: dict[int, _Unknown] = {}

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """Return the number of gradients used in each of the last rounds."""
        return tuple(record.count for record in self._recent)

    @property
    def seconds_per_round(self) -> Seconds | None:
        """Return the mean seconds of the last rounds, from opening to opening; None before the first."""
        if not self._recent:
            return None
        first, last = self._recent[0], self._recent[-1]
        return (last.opened + last.elapsed + last.overhead - first.opened) / len(self._recent)

    @property
    def gradients_per_second(self) -> float | None:
        """Return the gradients used per second over the last rounds; None before the first has closed."""
        seconds = self.seconds_per_round
        if not seconds:
            return None
        return sum(record.value for record in self._recent) / (seconds * len(self._recent))

    def take(self, record: RoundRecord) -> None:
        """Count a closed round."""
        self.rounds += 1
        self.gradients += record.value
        self._recent.append(record)
        rows = zip(record.roster.workers.tolist(), record.accepted.tolist(), strict=True)
        for worker, accepted in rows:
            share = self.shares.setdefault(worker, Share())
            share.rounds += 1
            share.accepted += accepted > 0
        self._count_saved(record)

    def settle(self, settle: Settle) -> None:
        """Count the run time of a gradient that was pending: it has come, or never will."""
        closed = self._pending.get(settle.version)
        if closed is None:
            return
        self.saved += closed.reaches(settle.run_time)
        closed.pending -= 1
        closed.never |= settle.fate is Fate.LOST
        if closed.pending == 0:
            self.unknown -= not closed.never
            del self._pending[settle.version]

    def _count_saved(self, record: RoundRecord) -> None:
        closed = _Unknown(
            longest=record.elapsed,
            pending=int((record.fates == Fate.PENDING).sum()),
            never=bool((record.fates == Fate.ABANDONED).any()),
        )
        self.saved += closed.reaches(float(record.run_times.seconds.max(initial=0.0)))
        self.unknown += closed.never or closed.pending > 0
        if closed.pending:
            self._pending[record.version] = closed
