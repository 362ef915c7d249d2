"""Running figures of a run: who was accepted how often, how fast it goes, what not waiting has saved."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import final

from tailcut.events import Settle
from tailcut.ledger import is_run_time
from tailcut.types import Fate, RoundRecord, Seconds, WorkerId

RECENT = 50
"""Rounds that rates are taken over."""


@dataclass(slots=True)
class Share:
    """Rounds that a worker took part in, and those its gradient was used in."""

    rounds: int = 0
    accepted: int = 0


@dataclass(slots=True)
class _Unknown:
    """A closed round whose slowest worker may not be known.

    Attributes:
        longest: how long it would have lasted with everybody, as far as is known; no less than it did.
        pending: workers that will still report.
        never: whether somebody's run time will never be known.
    """

    longest: Seconds
    pending: int
    never: bool

    def reaches(self, seconds: Seconds) -> Seconds:
        """Somebody took so long; by how much longer everybody would have waited than was known."""
        more = max(seconds - self.longest, 0.0) if is_run_time(seconds) else 0.0
        self.longest += more
        return more


@final
class Tally:
    """Figures so far.

    Attributes:
        rounds: closed.
        gradients: used, partial ones by their share.
        shares: by worker.
        saved: seconds that waiting for everybody would have added to the closed rounds, as far as run times are
            known: a worker that was told to stop counts for what it had computed by then.
        unknown: rounds in which somebody was cut whose run time is not known, so that more may have been saved.
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
        """Gradients used in each of the last rounds."""
        return tuple(record.count for record in self._recent)

    @property
    def seconds_per_round(self) -> Seconds | None:
        """Over the last rounds, from opening to opening; None before the first has closed."""
        if not self._recent:
            return None
        first, last = self._recent[0], self._recent[-1]
        return (last.opened + last.elapsed + last.overhead - first.opened) / len(self._recent)

    @property
    def gradients_per_second(self) -> float | None:
        """Over the last rounds; None before the first has closed."""
        seconds = self.seconds_per_round
        if not seconds:
            return None
        return sum(record.value for record in self._recent) / (seconds * len(self._recent))

    def take(self, record: RoundRecord) -> None:
        """A round has closed."""
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
        """A gradient that was pending has come, or never will."""
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
