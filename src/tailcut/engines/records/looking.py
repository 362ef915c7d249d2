"""Snapshots of a running engine: what each worker does, and since when."""

from __future__ import annotations

from typing import final

from tailcut.engines.records.asked import Taker
from tailcut.engines.records.now import Now, WorkerNow
from tailcut.engines.records.standing import At, Standing
from tailcut.engines.records.tally import Share, Tally
from tailcut.types import Seconds, WorkerId


@final
class Looking:
    """The snapshots of one run, which remember since when each worker does what it does.

    Args:
        began: the clock's seconds when the engine began.
    """

    def __init__(self, began: Seconds) -> None:
        self._began = self._last = began
        self._since: dict[WorkerId, tuple[str, int, Seconds]] = {}

    def look(
        self, standing: Standing, tally: Tally, now: Seconds, written: Seconds, over: bool = False
    ) -> Now:
        """Return the state of the run at `now`; `written` is the same moment in seconds since 1970."""
        workers = tuple(self._worker(at, tally, now) for at in standing.workers)
        self._last = now
        return Now(
            written=written,
            running=now - self._began,
            version=standing.version,
            rounds=tally.rounds,
            cutoffs=tally.cutoffs,
            seconds_per_round=tally.seconds_per_round,
            gradients_per_second=tally.gradients_per_second,
            saved=tally.saved,
            unknown=tally.unknown,
            over=over or standing.over or standing.why is not None,
            why=standing.why,
            workers=workers,
        )

    def _worker(self, at: At, tally: Tally, now: Seconds) -> WorkerNow:
        share = tally.shares.get(at.worker, Share())
        since = max(now - self._moment(at, now), 0.0)
        where = (at.worker, at.host, at.process)
        return WorkerNow(*where, at.doing, at.version, since, share.rounds, share.accepted)

    def _moment(self, at: At, now: Seconds) -> Seconds:
        """Return since when the worker does what it does. Most changes go with a message of its own."""
        known = self._since.get(at.worker)
        if known is None or known[:2] != (at.doing, at.version):
            moment = at.heard if self._last < at.heard else now
            known = self._since[at.worker] = (at.doing, at.version, moment)
        return known[2]


def takers(standing: Standing) -> tuple[Taker, ...]:
    """Return the workers that take part."""
    return tuple(Taker(at.worker, at.host, at.process, at.node) for at in standing.workers)
