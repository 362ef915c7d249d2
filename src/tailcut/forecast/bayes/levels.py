"""The exact filter over each worker's level: where it stands, on the logarithmic grid of cells.

    move      stay where it was | diffuse by a little | jump, to where its own past or the law of all puts it
    run time  near the level, more or less closely | a passing excursion, from its own past, that leaves the level

The belief about a level is a probability for every cell, so nothing is approximated but the grid. A seen run time
multiplies it by a density, a censored one by a survival: nothing is imputed. How often each move and each kind of run
time happens is shared by all workers and follows the data (one step of online EM a round).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tailcut.forecast.trend.cells import COUNT, PER_OCTAVE, blurred
from tailcut.types import BoolArray, FloatArray, IntArray

MOVES = ("stay", "diffuse", "jump within its own past", "jump to where anybody may be")
WIDTHS = (0.008, 0.04, 0.12)
"""Standard deviations of "near the level", in log seconds."""
KINDS = len(WIDTHS) + 1
"""Number of kinds of run time: near the level in each width, or an excursion."""
LEAST = 0.005
"""Smallest rate, so that every move and every kind can come back."""


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """The rates of each move and, without a jump, of each kind of run time; both sum to 1."""

    moves: FloatArray
    kinds: FloatArray

    @staticmethod
    def first() -> Rates:
        """Return the rates before anything was seen."""
        return Rates(np.array([0.5, 0.2, 0.2, 0.1]), np.array([0.25, 0.25, 0.25, 0.25]))


@lru_cache(maxsize=1)
def near() -> FloatArray:
    """Return `(widths, cells, cells)`; row ℓ: probability of each run time's cell near the level ℓ."""
    cells = np.arange(COUNT)
    off = (cells[None, :] - cells[:, None]).astype(np.float64)
    spread = np.array(WIDTHS)[:, None, None] / np.log(2.0) * PER_OCTAVE
    raw = np.exp(-0.5 * (off[None] / spread) ** 2)
    return _fixed(raw / raw.sum(axis=2, keepdims=True))


@lru_cache(maxsize=1)
def _by_cell() -> tuple[FloatArray, FloatArray]:
    """Return `(widths, cells, cells)` twice; row k: chance of cell k, and of k or later, by level."""
    tails = np.cumsum(near()[:, :, ::-1], axis=2)[:, :, ::-1]
    return _fixed(near().transpose(0, 2, 1)), _fixed(tails.transpose(0, 2, 1))


def _fixed(array: FloatArray) -> FloatArray:
    out = np.ascontiguousarray(array)
    out.setflags(write=False)
    return out


def kernel(rates: Rates) -> FloatArray:
    """Return `(cells, cells)` the law of a run time near the level; rows sum to the chance of that."""
    out: FloatArray = np.tensordot(rates.kinds[:-1], near(), axes=1)
    return out


def stayed(rates: Rates, levels: FloatArray) -> FloatArray:
    """Return `(rows, cells)` the beliefs about levels that did not jump; rows sum to the chance of that."""
    out: FloatArray = rates.moves[0] * levels + rates.moves[1] * blurred(blurred(levels))
    return out


def predictive(rates: Rates, levels: FloatArray, own: FloatArray, everybody: FloatArray) -> FloatArray:
    """Return `(rows, cells)` the laws of the next run times.

    Args:
        rates: rates of moves and kinds.
        levels: `(rows, cells)` belief about the last round's levels.
        own: `(rows, cells)` each worker's own past.
        everybody: `(cells,)` law of all workers.
    """
    from_own = (1.0 - rates.moves[2:].sum()) * rates.kinds[-1] + rates.moves[2]
    out: FloatArray = stayed(rates, levels) @ kernel(rates)
    out += from_own * own
    out += rates.moves[3] * everybody
    return out


def updated(
    rates: Rates,
    levels: FloatArray,
    own: FloatArray,
    everybody: FloatArray,
    cell: IntArray,
    part: FloatArray,
    observed: BoolArray,
    pace: float,
) -> tuple[FloatArray, Rates]:
    """Return the beliefs and rates after a round.

    Args:
        rates: rates before the round.
        levels: `(rows, cells)` beliefs about the levels of the round before.
        own: `(rows, cells)` each worker's own past before this round.
        everybody: `(cells,)` law of all workers.
        cell: `(rows,)` cell of the run time, or of the bound it exceeds.
        part: `(rows,)` part of the cell.
        observed: `(rows,)` whether the run time was seen; otherwise it exceeds the bound.
        pace: weight of one round in the rates.
    """
    by_width = _likelihoods(cell, part, observed)
    everywhere = np.broadcast_to(everybody, own.shape)
    own_left, all_left = (_left(law, cell, part, observed) for law in (own, everywhere))
    own_chance, all_chance = own_left.sum(axis=1), all_left.sum(axis=1)
    diffused = blurred(blurred(levels))
    held = rates.moves[0] * levels + rates.moves[1] * diffused
    likelihood = np.tensordot(rates.kinds[:-1], by_width, axes=1) + (rates.kinds[-1] * own_chance)[:, None]
    landed = rates.moves[2] * own_left + rates.moves[3] * all_left
    after = held * likelihood + _near_landing(rates, landed, cell, observed)
    total = after.sum(axis=1)
    after /= np.maximum(total, 1e-300)[:, None]
    after[total < 1e-30] = levels[total < 1e-30]
    by_move = np.stack(
        [np.einsum("rl,rl->r", where, likelihood) for where in (levels, diffused)] + [own_chance, all_chance]
    )
    by_kind = np.vstack([np.einsum("krl,rl->kr", by_width, held), held.sum(axis=1) * own_chance])
    return after, Rates(
        _towards(rates.moves, by_move, total, pace), _towards(rates.kinds, by_kind, total, pace)
    )


def _near_landing(rates: Rates, landed: FloatArray, cell: IntArray, observed: BoolArray) -> FloatArray:
    """Return `(rows, cells)` the levels after a jump: near the run time, or beyond its bound."""
    around = kernel(rates) / (1.0 - rates.kinds[-1])
    out: FloatArray = around[cell]
    out *= landed[np.arange(len(cell)), cell][:, None]
    cut = np.flatnonzero(~observed)
    if len(cut):
        out[cut] = landed[cut] @ around
    return out


def _likelihoods(cell: IntArray, part: FloatArray, observed: BoolArray) -> FloatArray:
    """Return `(widths, rows, cells)` the likelihood of what was seen, for every level."""
    density, tail = _by_cell()
    out: FloatArray = density[:, cell]
    cut = np.flatnonzero(~observed)
    if len(cut):
        out[:, cut] = tail[:, cell[cut]] - part[None, cut, None] * out[:, cut]
    return out


def _left(law: FloatArray, cell: IntArray, part: FloatArray, observed: BoolArray) -> FloatArray:
    """Return `(rows, cells)` the part of a law that agrees with the cell seen, or with the bound."""
    rows = np.arange(len(cell))
    beyond = np.arange(law.shape[1])[None, :] > np.where(observed, COUNT, cell)[:, None]
    out: FloatArray = law * beyond
    out[rows, cell] = law[rows, cell] * np.where(observed, 1.0, 1.0 - part)
    return out


def _towards(rates: FloatArray, chances: FloatArray, total: FloatArray, pace: float) -> FloatArray:
    """Return the rates moved towards the mean responsibility of each.

    Args:
        rates: `(k,)` rates before.
        chances: `(k, rows)` likelihood of what was seen under each.
        total: `(rows,)` likelihood of what was seen; more than the above account for where a jump is possible too.
        pace: how far to move.
    """
    share = (rates[:, None] * chances / np.maximum(total, 1e-300)).mean(axis=1)
    told = min(float(share.sum()), 1.0)
    new = np.maximum(rates + pace * (share - told * rates), LEAST)
    out: FloatArray = new / new.sum()
    return out
