"""A recorded run as a run-time table: record, compare, choose, run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tailcut.engines.records.read import RecordedRun
from tailcut.engines.records.rows import Rows, Times
from tailcut.errors import InputError
from tailcut.table import Table
from tailcut.types import BoolArray, Fate, FloatArray, RoundRecord, Seconds, WorkerId

NEVER_CAME = (Fate.LOST, Fate.PENDING)
DIGITS = 9
"""Decimal places of the overhead in seconds: clocks tell nanoseconds, and differences of times no more."""


@dataclass(frozen=True, slots=True, eq=False)
class Replayable:
    """The table and numbers that a run can be replayed from.

    Attributes:
        table: run times, censored ones marked; a row is every worker's next piece of work.
        overhead: mean seconds per round beside the run times.
        late_finish: whether late workers finished their work.
        closed: rounds of the run; the table may have fewer.
        shortest: worker that began on so few rounds that the table ends there; None if it has all rounds.
    """

    table: Table
    overhead: Seconds
    late_finish: bool
    closed: int
    shortest: WorkerId | None


def replayable(run: RecordedRun) -> Replayable:
    """Return the run times of a run, to be replayed under any policy.

    A worker that was still busy with an older round when a round closed never began on that one. Such holes
    are closed up: row k is the k-th piece of work of every worker. Left open, they would let a policy that
    waits for all go on without the slowest workers. The table ends where the first worker has no more, unless
    it never came back from its last piece of work and was away for longer than ever before: then it is
    censored there, and gone.

    Raises:
        InputError: no round was closed.
    """
    rows = Rows()
    for line in run.lines:
        if isinstance(line, RoundRecord):
            rows.take(line)
        else:
            rows.settle(line)
    times, rounds = rows.times(), run.rounds
    if np.isnan(times.seconds).all():
        raise InputError(f"{run.folder} holds a run without a single closed round. Let it run for longer.")
    end = rounds[-1].opened + rounds[-1].elapsed
    columns = {w: _column(times, i, end) for i, w in enumerate(times.workers.tolist())}
    columns = {w: column for w, column in columns.items() if not np.isnan(column[0]).all()}
    shortest = min(columns, key=lambda w: len(columns[w][0]))
    length = len(columns[shortest][0])
    table = Table(
        seconds=np.stack([seconds[:length] for seconds, _ in columns.values()], axis=1),
        observed=np.stack([observed[:length] for _, observed in columns.values()], axis=1),
        names=tuple(columns),
        nodes=times.nodes[np.isin(times.workers, list(columns))],
        source=str(run.folder),
    )
    ends_early = shortest if length < len(rounds) else None
    return Replayable(table, overhead_of(rounds), run.asked.late == "finish", len(rounds), ends_early)


def overhead_of(rounds: list[RoundRecord]) -> Seconds:
    """Return the mean seconds of a round that no run time accounts for: the update, and messages.

    It is the time from a close to the next opening, on the controller's clock; and, among the workers that
    were free at the opening, the last arrival less the longest run time.
    """
    gaps = [
        two.opened - (one.opened + one.elapsed)
        for one, two in pairwise(rounds)
        if two.version == one.version + 1
    ]
    ways = [way for way in map(_way, rounds) if way is not None]
    return max(round(_mean(gaps) + _mean(ways), DIGITS), 0.0)


def _way(record: RoundRecord) -> Seconds | None:
    """Return the seconds from opening to arrivals beside run times; None if no free worker arrived."""
    ids, seen = record.roster.workers, record.run_times
    where = np.searchsorted(ids, seen.workers)
    straight = seen.observed & np.isfinite(record.arrivals[where]) & np.isnan(record.roster.busy[where])
    if not straight.any():
        return None
    return float(record.arrivals[where][straight].max() - seen.seconds[straight].max())


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _column(times: Times, worker: int, end: Seconds) -> tuple[FloatArray, BoolArray]:
    """Return a worker's run times in order, and which were observed; NaN where it took no part."""
    seconds, observed = times.seconds[:, worker].copy(), times.observed[:, worker].copy()
    fates = times.fates[:, worker]
    # The record ends before these gradients came.
    pending = fates == Fate.PENDING
    seconds[pending] = np.where(end > times.opened[pending], end - times.opened[pending], np.nan)
    keep = fates != Fate.UNSTARTED
    begun = np.flatnonzero(keep & (fates >= 0))
    if len(begun) and fates[begun[-1]] in NEVER_CAME:
        away = np.diff([*begun, len(fates)]) - 1
        if away[-1] > away[:-1].max(initial=0):
            keep[begun[-1] + 1 :] = True
    return seconds[keep], observed[keep]
