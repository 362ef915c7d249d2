"""Updates under a fixed cutoff: every round is a sort, and nothing carries over to the next.

The same updates as `updates` gives for such a policy (a test checks that), in a fraction of the time.
"""

from __future__ import annotations

import numpy as np

from tailcut.engines.simulated.updates import Updates
from tailcut.table import Table
from tailcut.types import BoolArray, Fate, FloatArray, Roster, RoundRecord, RunTimes, Seconds
from tailcut.work import Update, Work


def fixed_updates(table: Table, count: int, overhead: Seconds = 0.0) -> Updates:
    """Close every round when `count` workers are in, with all that arrive at that instant; late work is abandoned.

    Args:
        table: `(rounds, workers)` run times, whole.
        count: number of workers to wait for; all workers where there are fewer.
        overhead: seconds between a close and the next opening.
    """
    if not table.whole:
        raise ValueError("Some run times of the table are censored or absent; use updates() instead.")
    roster = Roster.of(table.workers, table.nodes)
    opened = 0.0
    for version, seconds in enumerate(table.seconds):
        moments = opened + seconds
        order = np.argsort(moments, kind="stable")
        closed = float(moments[order[min(count, table.workers) - 1]])
        first = order[: np.count_nonzero(moments <= closed)]
        works = [Work(worker, version, version) for worker in range(table.workers)]
        used = np.zeros(table.workers, dtype=np.bool_)
        used[first] = True
        yield Update(
            record=_record(version, opened, closed, overhead, roster, seconds, moments, used, len(first)),
            opened=opened,
            closed=closed,
            accepted=tuple(works[worker] for worker in first.tolist()),
            shares=(1.0,) * len(first),
            started=tuple(works),
            dropped=tuple(works[worker] for worker in np.flatnonzero(~used).tolist()),
            late=(),
        )
        opened = closed + overhead


def _record(
    version: int,
    opened: Seconds,
    closed: Seconds,
    overhead: Seconds,
    roster: Roster,
    seconds: FloatArray,
    moments: FloatArray,
    used: BoolArray,
    count: int,
) -> RoundRecord:
    elapsed = closed - opened
    return RoundRecord(
        version=version,
        opened=opened,
        elapsed=elapsed,
        overhead=overhead,
        roster=roster,
        arrivals=np.where(used, moments - opened, np.inf),
        accepted=used.astype(np.int64),
        shares=np.ones(len(used)),
        fates=np.where(used, np.int64(Fate.USED), np.int64(Fate.ABANDONED)),
        run_times=RunTimes(roster.workers, np.where(used, seconds, elapsed), used, roster.nodes),
        staleness=np.zeros(count, dtype=np.int64),
    )
