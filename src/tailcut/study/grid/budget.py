"""The budget of virtual time, the same for every arm of a study: the time that waiting for all takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tailcut.study.source import Draw, Source
from tailcut.table import Table
from tailcut.traces.limits import MAX_CELLS
from tailcut.types import Seconds

FIRST_FACTOR, MAX_FACTOR = 8, 64
"""Rows to draw at first and at most, as a multiple of the rounds of a study."""


@dataclass(frozen=True, slots=True, eq=False)
class Budget:
    """The run times of a run, and the time that it may take.

    Attributes:
        draw: run times, the same for every arm of a study.
        seconds: virtual seconds after which a run that has not reached its target ends.
    """

    draw: Draw
    seconds: Seconds


def timed(source: Source, seed: int, rounds: int) -> Budget:
    """Draw enough run times for any arm to train for as long as waiting for all needs for `rounds` rounds.

    No arm gets through a row faster than the fastest worker in it. So there are enough rows once the fastest run times
    of all rows together last that long. A recorded table begins anew after its last row.

    Args:
        source: source of run times.
        seed: seed of the sample.
        rounds: rounds of waiting for all; for a recorded table with fewer rows, the number of its rows.
    """
    factor = FIRST_FACTOR
    while True:
        draw = source.draw(seed, factor * rounds)
        slowest = np.nanmax(draw.table.seconds, axis=1)[:rounds] + draw.overhead
        seconds = float(slowest.sum())
        table = _repeated(draw.table, factor * rounds)
        is_last = 2 * factor > MAX_FACTOR or 2 * table.rounds * table.workers > MAX_CELLS
        if is_last or float(np.nanmin(table.seconds, axis=1).sum()) >= seconds:
            return Budget(replace(draw, table=table), seconds)
        factor *= 2


def _repeated(table: Table, rows: int) -> Table:
    if table.rounds >= rows:
        return table
    take = np.arange(rows) % table.rounds
    return replace(table, seconds=table.seconds[take], observed=table.observed[take])
