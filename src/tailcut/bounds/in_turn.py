"""Rounds one after the other, where the run times of a round depend on when it opens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tailcut.bounds.sorted_rounds import SortedRounds
from tailcut.engines.simulated.at_once import closing_at
from tailcut.engines.simulated.run import Run
from tailcut.errors import InputError
from tailcut.table import Table
from tailcut.timeline import Timeline
from tailcut.types import Seconds


def in_turn(timeline: Timeline, close: Callable[[SortedRounds], Seconds], overhead: Seconds = 0.0) -> Run:
    """Close each round of a timeline after as many seconds as `close` says, late work abandoned.

    Args:
        timeline: run times by round and by the moment of the opening.
        close: from the one round that has just opened, its arrivals in order, to the seconds it lasts.
        overhead: seconds between a close and the next opening.
    """
    seconds = np.empty((timeline.rounds, timeline.workers))
    observed = np.empty(seconds.shape, dtype=np.bool_)
    elapsed = np.empty(timeline.rounds)
    now = 0.0
    for row in range(timeline.rounds):
        seconds[row], observed[row] = timeline.at(row, now)
        if not observed[row].any():
            raise InputError(
                f"In round {row} of {timeline.source} no gradient ever comes: nobody is there. Take another seed."
            )
        elapsed[row] = close(SortedRounds.of_rows(seconds[row : row + 1], observed[row : row + 1]))
        now += float(elapsed[row] + overhead)
    names = tuple(range(timeline.workers))
    return closing_at(Table(seconds, observed, names, timeline.nodes, timeline.source), elapsed, overhead)


def first_in_turn(timeline: Timeline, count: int, overhead: Seconds = 0.0) -> Run:
    """Close every round when `count` workers are in, or all that come, with all that arrive at that instant."""
    return in_turn(timeline, lambda one: float(one.cut_at_count(count)[1][0]), overhead)
