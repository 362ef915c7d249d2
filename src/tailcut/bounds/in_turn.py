"""Simulation of rounds whose run times depend on the moment of their opening."""

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
    """Close each round of a timeline after the seconds that `close` returns; late work is abandoned.

    Args:
        timeline: run times by round and by the moment of the opening.
        close: gives the length in seconds of the round that has just opened, from its sorted arrivals.
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
    """Close every round when `count` workers, or all that come, are in, with all arrivals at that instant."""
    return in_turn(timeline, lambda one: float(one.cut_at_count(count)[1][0]), overhead)
