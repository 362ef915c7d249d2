"""Each worker's own law of run times, learned from seen and censored times, backed by what all share.

A worker's law is described by its hazard in each cell: events ÷ exposure. Censored times add exposure and no event
(Kaplan & Meier 1958), so nothing is ever imputed. With prior hazard h₀ of strength κ, as of a beta process,

    h = (events + κ·h₀) / (exposure + κ),

where h₀ is the hazard of all workers' residuals, placed at the worker's own level, its median.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailcut.forecast.trend.cells import COUNT, blurred
from tailcut.types import BoolArray, FloatArray, IntArray

UNKNOWN_HAZARD = 0.02
"""Hazard per cell where no worker was ever seen: the chance that one beyond all experience arrives."""
MOST_UNKNOWN = 0.1
"""Largest such hazard where it is continued: then most arrive within 20 cells, half an octave."""
EDGE = 8
"""Number of last known cells whose hazard is continued into the unknown."""
ENOUGH = 0.5
"""Exposure under which a cell counts as never seen."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Events and exposure by cell, older ones discounted.

    Attributes:
        events: `(…, cells)` arrivals seen in each cell.
        censored: `(…, cells)` workers cut in each cell; one cut after a part u of a cell counts u there and 1 − u
            in the cell before, so that exposures add up.
    """

    events: FloatArray
    censored: FloatArray

    @staticmethod
    def empty(*shape: int) -> Tally:
        """Return a tally of no run times."""
        return Tally(np.zeros(shape), np.zeros(shape))

    def rows(self, rows: IntArray) -> Tally:
        """Return some rows of the tally."""
        return Tally(self.events[rows], self.censored[rows])

    def exposure(self) -> FloatArray:
        """Return `(…, cells)` the number of workers still out at the beginning of each cell."""
        total: FloatArray = np.cumsum((self.events + self.censored)[..., ::-1], axis=-1)[..., ::-1]
        return total


def split(position: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the cell, and the part of the cell."""
    cell = position.astype(np.int64)
    return cell, position - cell


def tallied(tally: Tally, position: FloatArray, observed: BoolArray, keep: float) -> Tally:
    """Discount every row by `keep` and add one time to each, at `position` cells."""
    events, censored = tally.events * keep, tally.censored * keep
    cell, part = split(position)
    seen, cut = np.flatnonzero(observed), np.flatnonzero(~observed)
    events[seen, cell[seen]] += 1.0
    censored[cut, cell[cut]] += part[cut]
    censored[cut, np.maximum(cell[cut] - 1, 0)] += 1.0 - part[cut]
    return Tally(events, censored)


def tallied_paced(
    tally: Tally, position: FloatArray, observed: BoolArray, memory: float, unseen: float
) -> Tally:
    """Add one time to each row as `tallied` does, but forget less where the round did not reach.

    There a row forgets `unseen` times as much, 0 to 1. A worker that is cut round after round shows nothing
    of its usual run times: they must not fade as if it had. Events and exposure of a cell fade alike, so
    hazards stay what they were until something new is seen of them.

    Args:
        tally: `(rows, cells)` the tally so far.
        position: `(rows,)` cells and parts of cells.
        observed: `(rows,)` false where it is only a bound.
        memory: rounds over which a row forgets where rounds reach.
        unseen: 1 forgets everything alike.
    """
    cells = np.arange(tally.events.shape[1])
    reached = np.where(observed, np.floor(position) + 1.0, position)
    shown = np.clip(reached[:, None] - cells, 0.0, 1.0)
    keep = 1.0 - (unseen + (1.0 - unseen) * shown) / memory
    exposure = tally.exposure() * keep
    events = tally.events * keep
    censored = exposure - events  # May be negative, see `paced`.
    censored[:, :-1] -= exposure[:, 1:]
    return tallied(Tally(events, censored), position, observed, 1.0)


def pooled(tally: Tally, position: FloatArray, observed: BoolArray, keep: float) -> Tally:
    """Add times to one tally shared by all; positions are residuals, moved into its range."""
    events, censored = tally.events * keep, tally.censored * keep
    cell, part = split(np.clip(position, 1.0, len(events) - 1.0))
    np.add.at(events, cell[observed], 1.0)
    cut = ~observed
    np.add.at(censored, cell[cut], part[cut])
    np.add.at(censored, cell[cut] - 1, 1.0 - part[cut])
    return Tally(events, censored)


def paced(tally: Tally, position: FloatArray, observed: BoolArray, mass: float) -> Tally:
    """Add times as `pooled` does, but each cell forgets only as much as new exposure replaces.

    Where every round shows a cell, the past fades in rounds. Beyond the usual close, where only the few workers that
    are let finish ever show anything, it stays until as much has been seen again: the tail keeps its memory.

    Args:
        tally: `(cells,)` the tally so far.
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


def hazard(tally: Tally, most: float = UNKNOWN_HAZARD) -> FloatArray:
    """Return `(cells,)` the hazard of a shared tally, continued where no worker was ever seen.

    Args:
        tally: events and exposure.
        most: largest hazard there; by default the smallest too, so that nothing depends on the last cells.
    """
    exposure = tally.exposure()
    raw = np.divide(tally.events, exposure, out=np.zeros_like(exposure), where=exposure > 1e-9)
    seen = exposure >= ENOUGH
    known: FloatArray = np.where(seen, raw, np.maximum(raw, _beyond(tally, exposure, seen, most)))
    return known


def _beyond(tally: Tally, exposure: FloatArray, seen: BoolArray, most: float) -> float:
    """Return the hazard where no worker was ever seen: that of the last cells, held within bounds."""
    last = np.flatnonzero(seen)[-EDGE:]
    if len(last) == 0:
        return UNKNOWN_HAZARD
    at_edge = float(tally.events[last].sum() / exposure[last].sum())
    return min(max(at_edge, UNKNOWN_HAZARD), most)


def levels(tally: Tally, exposure: FloatArray) -> IntArray:
    """Return `(rows,)` each worker's median cell by Kaplan–Meier, at most the last cell with exposure.

    A median that lies beyond all that was seen is not guessed: guesses fed back into a level run away.
    """
    survival = np.divide(tally.events, exposure, out=np.zeros_like(exposure), where=exposure > 1e-6)
    np.cumprod(np.subtract(1.0, survival, out=survival), axis=1, out=survival)
    median = (survival > 0.5).sum(axis=1)
    known = exposure > 1e-3
    last = COUNT - 1 - np.argmax(known[:, ::-1], axis=1)
    out: IntArray = np.minimum(median, last)
    return out


def own_law(
    tally: Tally, exposure: FloatArray, prior: FloatArray, strength: float, smooth: bool = True
) -> FloatArray:
    """Return `(rows, cells)` the probability of each cell; `prior` holds each row's prior hazards."""
    hazards = (tally.events + strength * prior) / (exposure + strength)
    survival = np.cumprod(1.0 - np.minimum(hazards, 1.0), axis=1)
    law = -np.diff(survival, axis=1, prepend=1.0)
    law[:, -1] += survival[:, -1]
    return blurred(law) if smooth else law


def placed(shared: FloatArray, level: IntArray) -> FloatArray:
    """Return `(rows, COUNT)` the hazards of residuals (cell COUNT is 0) placed at each row's level."""
    out: FloatArray = shared[np.arange(COUNT)[None, :] - level[:, None] + COUNT]
    return out
