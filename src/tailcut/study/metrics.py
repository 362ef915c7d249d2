"""Figures of one run that are not rates: the workers it served, and the kind of work it dropped."""

from __future__ import annotations

import numpy as np

from tailcut.engines.simulated import Run
from tailcut.table import Table
from tailcut.types import FloatArray

DECILES = 10


def least_served(run: Run, table: Table, skip: int) -> float:
    """Return the accepted share of the least-served worker over the mean of all workers, 0..1.

    A worker's share is of the rounds it took part in.
    """
    present = ~np.isnan(table.seconds[skip : run.rounds])
    took_part = present.sum(axis=0)
    served = (run.accepted[skip:] & present).sum(axis=0)[took_part > 0] / took_part[took_part > 0]
    return float(served.min() / served.mean()) if len(served) and served.mean() > 0 else 0.0


def acceptance_by_decile(run: Run, table: Table, skip: int) -> FloatArray:
    """`(10,)` share of gradients accepted, by decile of their run time from fastest to slowest.

    Equal run times are spread evenly over the deciles they span by their place in the table. With fewer than
    ten gradients the last deciles are NaN.
    """
    seen = table.observed[skip : run.rounds]
    seconds = table.seconds[skip : run.rounds][seen]
    accepted = run.accepted[skip:][seen]
    order = np.argsort(seconds, kind="stable")
    return np.array(
        [part.mean() if len(part) else np.nan for part in np.array_split(accepted[order], DECILES)]
    )
