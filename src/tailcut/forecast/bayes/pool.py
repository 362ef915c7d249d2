"""One law for all workers, forgotten only as fast as new evidence comes.

Where every round shows a cell, the past fades over `memory` rounds. Beyond the usual close, where only the few workers
that are let finish ever show anything, it stays until as much has been seen again: the tail keeps its memory.
"""

from __future__ import annotations

import numpy as np

from tailcut.forecast.trend.cells import blurred
from tailcut.forecast.trend.own import Tally, hazard, pooled
from tailcut.types import BoolArray, FloatArray


def paced(tally: Tally, position: FloatArray, observed: BoolArray, mass: float) -> Tally:
    """Add run times at `position` cells; each cell forgets what new exposure replaces.

    Args:
        tally: `(cells,)` so far.
        position: `(n,)` cells and parts of cells.
        observed: `(n,)` false where it is only a bound.
        mass: exposure that a cell remembers, workers × rounds.
    """
    new = pooled(Tally.empty(*tally.events.shape), position, observed, 1.0)
    keep = np.maximum(1.0 - new.exposure() / mass, 0.0)
    # Exposure is a running sum over cells: keep what is kept by cell, then take it apart again. A tail that forgets
    # less than the body makes "censored" negative there; it must stay so, or the body's exposure grows without events.
    exposure = tally.exposure() * keep
    events = tally.events * keep
    censored = exposure - events - np.append(exposure[1:], 0.0)
    return Tally(events + new.events, censored + new.censored)


def law(tally: Tally) -> FloatArray:
    """`(cells,)` probability of each cell."""
    survival = np.cumprod(1.0 - np.minimum(hazard(tally), 1.0))
    out = -np.diff(survival, prepend=1.0)
    out[-1] += survival[-1]
    return blurred(out)
