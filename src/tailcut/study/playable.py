"""Check that a table can be replayed: done before the work, with one sentence if it cannot."""

from __future__ import annotations

import numpy as np

from tailcut.errors import InputError
from tailcut.table import Table
from tailcut.types import Seconds

LEAST, MOST = 1e-12, 1e15
"""Shortest run time and longest whole run, in seconds: beyond these, rates and squares may overflow."""
RESOLUTION = 2.0**-52
"""A clock that shows t seconds cannot tell moments apart that are closer than this part of t."""


def refuse_unplayable(table: Table, overhead: Seconds) -> None:
    """Raise an `InputError` if no worker finishes some round, or if no clock could show all run times."""
    hollow = ~table.observed.any(axis=1)
    if hollow.any():
        raise InputError(
            f"In round {int(hollow.argmax())} (counted from 0) of {table.source} no gradient ever comes: its run times "
            "are all censored or absent. Leave that round out."
        )
    shortest, longest = float(np.nanmin(table.seconds)), float(np.nanmax(table.seconds))
    with np.errstate(over="ignore"):
        total = float((np.nanmax(table.seconds, axis=1) + overhead).sum())
    if shortest < max(LEAST, total * RESOLUTION) or total > MOST:
        raise InputError(
            f"The run times of {table.source} go from {shortest:g} to {longest:g} s and a run would last {total:g} s: "
            "no clock shows both. Check their unit and the overhead, and leave out numbers that are no run times."
        )
