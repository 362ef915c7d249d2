"""All that the trend forecaster believes, and how that belief grows with workers and follows the scale of time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tailcut.forecast.trend import factors as shared
from tailcut.forecast.trend import own as law_of
from tailcut.forecast.trend import stay
from tailcut.forecast.trend.cells import COUNT, PER_OCTAVE, Cells, shift_columns
from tailcut.forecast.trend.own import Tally
from tailcut.types import FloatArray, IntArray, RunTimes

CENSORED, NEVER = -1, -2
"""Numbers in place of a cell: the last run time was censored, or there was none."""
GONE_FOR_LONG = 1000
"""Records that do not include a worker after which its row may be dropped."""


@dataclass(frozen=True, slots=True, eq=False)
class TrendBelief:
    """The belief of the trend forecaster. Arrays over known workers are aligned with `ids`, increasing.

    Attributes:
        cells: the logarithmic grid.
        ids: `(m,)` workers known.
        absent: `(m,)` number of records since each was last seen.
        tally: `(m, cells)` each worker's own events and exposure, at factor 1.
        levels: `(m,)` median cell of each.
        last_cell: `(m,)` cell of the last run time, `CENSORED` or `NEVER`.
        last_law: `(m, cells)` law of a censored last run time.
        residuals: `(2·cells,)` events and exposure of all workers' residuals; cell `COUNT` means 0.
        weights: `(sources,)` how often the next run time is near the last one, or from the own law.
        factors: belief about the factors that groups share.
        own: `(m, cells)` each worker's own law.
        next: `(m, cells)` law of each worker's next run time at factor 1.
    """

    cells: Cells
    ids: IntArray
    absent: IntArray
    tally: Tally
    levels: IntArray
    last_cell: IntArray
    last_law: FloatArray
    residuals: Tally
    weights: FloatArray
    factors: shared.Factors
    own: FloatArray
    next: FloatArray


def first(cells: Cells) -> TrendBelief:
    """Return a belief about no workers."""
    nobody, empty = np.empty(0, np.int64), np.zeros((0, COUNT))
    return TrendBelief(
        cells=cells,
        ids=nobody,
        absent=nobody,
        tally=Tally.empty(0, COUNT),
        levels=nobody,
        last_cell=nobody,
        last_law=empty,
        residuals=Tally.empty(2 * COUNT),
        weights=np.full(stay.SOURCES, 1.0 / stay.SOURCES),
        factors=shared.Factors.none(),
        own=empty,
        next=empty,
    )


def recentred(belief: TrendBelief, seen: RunTimes) -> TrendBelief:
    """Move the unit if run times have left the middle of the range, as after a very slow first round."""
    if not seen.observed.any():
        return belief
    octaves = belief.cells.octaves_off(float(np.median(seen.seconds[seen.observed])))
    if octaves == 0:
        return belief
    by = octaves * PER_OCTAVE
    tally = Tally(shift_columns(belief.tally.events, by), shift_columns(belief.tally.censored, by))
    return replace(
        belief,
        cells=belief.cells.moved(octaves),
        tally=tally,
        levels=np.clip(belief.levels - by, 0, COUNT - 1),
        last_cell=np.where(
            belief.last_cell >= 0, np.clip(belief.last_cell - by, 0, COUNT - 1), belief.last_cell
        ),
        last_law=shift_columns(belief.last_law, by),
        own=shift_columns(belief.own, by),
        next=shift_columns(belief.next, by),
    )


def admitted(belief: TrendBelief, workers: IntArray) -> TrendBelief:
    """Add rows for new workers; drop rows of workers gone for long once they are the majority."""
    new = np.setdiff1d(workers, belief.ids)
    stale = (belief.absent > GONE_FOR_LONG) & ~np.isin(belief.ids, workers)
    keep = ~stale if 2 * int(stale.sum()) > len(belief.ids) else np.ones(len(belief.ids), np.bool_)
    if len(new) == 0 and keep.all():
        return belief
    ids = np.concatenate([belief.ids[keep], new])
    order = np.argsort(ids)
    usual = int(np.median(belief.levels)) if len(belief.levels) else 0
    prior = law_of.placed(law_of.hazard(belief.residuals), np.full(len(new), usual))
    nothing = Tally.empty(len(new), COUNT)
    fresh = law_of.own_law(nothing, nothing.exposure(), prior, 1.0)

    def grown(old: FloatArray | IntArray, rows: FloatArray | IntArray) -> FloatArray:
        out: FloatArray = np.concatenate([old[keep], rows])[order]
        return out

    return replace(
        belief,
        ids=ids[order],
        absent=grown(belief.absent, np.zeros(len(new), np.int64)).astype(np.int64),
        tally=Tally(
            grown(belief.tally.events, nothing.events), grown(belief.tally.censored, nothing.censored)
        ),
        levels=grown(belief.levels, np.full(len(new), usual)).astype(np.int64),
        last_cell=grown(belief.last_cell, np.full(len(new), NEVER)).astype(np.int64),
        last_law=grown(belief.last_law, nothing.events),
        own=grown(belief.own, fresh),
        next=grown(belief.next, fresh),
    )
