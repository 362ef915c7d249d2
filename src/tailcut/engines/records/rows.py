"""Run times by round and worker, as far as they are known by now: late ones are filled in when they come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tailcut.engines.records.lines import aligned
from tailcut.events import Settle
from tailcut.ledger import is_run_time
from tailcut.types import NO_NODE, BoolArray, Fate, FloatArray, IntArray, RoundRecord, Seconds

MOST_ROSTERS = 64
"""Most rosters that are remembered, for rounds to share."""


@dataclass(slots=True, eq=False)
class _Row:
    """One round; arrays by worker of its roster. A pending worker has no run time yet."""

    opened: Seconds
    workers: IntArray
    nodes: IntArray
    seconds: FloatArray
    observed: BoolArray
    fates: np.ndarray[Any, np.dtype[np.int8]]


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """All rounds. Arrays `(rounds, workers)`.

    Attributes:
        workers: `(workers,)` ids, increasing.
        nodes: `(workers,)` the machine of each.
        opened: `(rounds,)` time of the opening, in seconds of the controller's clock.
        seconds: run times; NaN where nothing is known.
        observed: whether the run time itself was seen; otherwise it exceeds `seconds`.
        fates: a `Fate` each, -1 for workers that took no part in the round.
    """

    workers: IntArray
    nodes: IntArray
    opened: FloatArray
    seconds: FloatArray
    observed: BoolArray
    fates: IntArray


@final
class Rows:
    """The run times of rounds, taken in as they come.

    Args:
        most: number of newest rounds that are kept; None for all.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._rows: dict[int, _Row] = {}
        # Thousands of rounds have the same roster, which those that were read from a file do not share.
        self._rosters: dict[bytes, tuple[IntArray, IntArray]] = {}

    def take(self, record: RoundRecord) -> None:
        """Take in a closed round."""
        roster = record.roster
        seconds, observed = aligned(record)
        if len(self._rosters) >= MOST_ROSTERS:
            self._rosters.clear()
        key = roster.workers.tobytes() + roster.nodes.tobytes()
        workers, nodes = self._rosters.setdefault(key, (roster.workers, roster.nodes))
        fates = record.fates.astype(np.int8)
        self._rows[record.version] = _Row(record.opened, workers, nodes, seconds, observed, fates)
        if self._most is not None and len(self._rows) > self._most:
            del self._rows[next(iter(self._rows))]

    def settle(self, settle: Settle) -> None:
        """Fill in a gradient that was pending: it has come, or never will."""
        row = self._rows.get(settle.version)
        if row is None:
            # The round was dropped here, or was an attempt at one that was never closed.
            return
        place = int(np.searchsorted(row.workers, settle.worker))
        if place == len(row.workers) or row.workers[place] != settle.worker:
            return
        if row.fates[place] != Fate.PENDING:
            return
        row.fates[place] = settle.fate
        if is_run_time(settle.run_time):
            row.seconds[place], row.observed[place] = settle.run_time, settle.fate is not Fate.LOST

    def times(self) -> Times:
        """Return all run times that are known."""
        rows = list(self._rows.values())
        ids = np.unique(np.concatenate([row.workers for row in rows])) if rows else np.zeros(0, np.int64)
        shape = (len(rows), len(ids))
        times = Times(
            workers=ids,
            nodes=np.full(len(ids), NO_NODE, dtype=np.int64),
            opened=np.array([row.opened for row in rows], dtype=np.float64),
            seconds=np.full(shape, np.nan),
            observed=np.zeros(shape, dtype=np.bool_),
            fates=np.full(shape, -1, dtype=np.int64),
        )
        for number, row in enumerate(rows):
            where = np.searchsorted(ids, row.workers)
            times.nodes[where] = row.nodes
            times.seconds[number, where] = row.seconds
            times.observed[number, where] = row.observed
            times.fates[number, where] = row.fates
        return times
