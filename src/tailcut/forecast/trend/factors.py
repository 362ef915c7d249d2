"""The factor on all run times of a group (a node, or the whole cluster), which jumps now and then.

A factor is a shift in cells. Each group has a belief over all shifts, filtered exactly: before a round it stays or
jumps, after it the group's seen and censored times reweight it. The likeliest few shifts are the scenarios of a
forecast, between which arrivals and silences decide during the round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tailcut.forecast.trend.cells import COUNT, PER_OCTAVE
from tailcut.types import NO_NODE, BoolArray, FloatArray, IntArray, RunTimes

REACH = 3 * PER_OCTAVE
"""Largest shift either way: a factor of 8."""
SHIFTS = np.arange(-REACH, REACH + 1)
LEAST_JUMP = 6
"""Smallest jump in cells (14 %); less is left to the workers' own laws."""
SMALLEST_GROUP = 3
"""Mean workers per node below which nodes tell less than the cluster as a whole."""
PLACES = 4
"""Number of scenarios per forecast."""
STRANGE = (0, 22, 44, 66)
"""Shifts from the likeliest (× 1, 1.6, 2.6, 4.2) that fill the scenarios where fewer are likely."""
FORGET = 1.0 / 300.0
LEAST_LOG = np.log(1e-5)


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """The belief about each group's factor, and about how factors move.

    Attributes:
        groups: `(k,)` group ids, increasing.
        laws: `(k, shifts)` probability of each shift.
        visited: `(k, shifts)` discounted rounds that each group has spent at each shift.
        jumps: discounted number of jumps.
        chances: discounted number of group-rounds.
        by_node: whether the groups of the last whole round were nodes, or all workers one.
    """

    groups: IntArray
    laws: FloatArray
    visited: FloatArray
    jumps: float = 1.0
    chances: float = 100.0
    by_node: bool = False

    @staticmethod
    def none() -> Factors:
        """Return a belief about no groups."""
        return Factors(np.empty(0, np.int64), np.zeros((0, len(SHIFTS))), np.zeros((0, len(SHIFTS))))

    def laws_of(self, groups: IntArray) -> FloatArray:
        """Return `(n, shifts)` the belief about each group id; certainly no shift for new ones."""
        out = np.zeros((len(groups), len(SHIFTS)))
        out[:, REACH] = 1.0
        if len(self.groups):
            place = np.minimum(np.searchsorted(self.groups, groups), len(self.groups) - 1)
            known = self.groups[place] == groups
            out[known] = self.laws[place[known]]
        return out

    def visits_of(self, groups: IntArray) -> FloatArray:
        """Return `(n, shifts)` the discounted rounds of each group id at each shift; zeros for new ones."""
        out = np.zeros((len(groups), len(SHIFTS)))
        if len(self.groups):
            place = np.minimum(np.searchsorted(self.groups, groups), len(self.groups) - 1)
            known = self.groups[place] == groups
            out[known] = self.visited[place[known]]
        return out

    def shift_of(self, groups: IntArray) -> IntArray:
        """Return `(n,)` the likeliest shift of each group id."""
        ids, where = np.unique(groups, return_inverse=True)
        likeliest: IntArray = SHIFTS[np.argmax(self.laws_of(ids), axis=1)]
        return likeliest[where]

    def groups_of(self, seen: RunTimes) -> IntArray:
        """Return `(n,)` the group id of each worker; late reports are grouped as the last whole round."""
        if not seen.late:
            return grouping(seen.nodes)
        return seen.nodes if self.by_node else np.zeros(len(seen), np.int64)

    @property
    def jump_rate(self) -> float:
        """The chance that a group's factor jumps in a round."""
        return self.jumps / self.chances


def grouping(nodes: IntArray) -> IntArray:
    """Return `(n,)` the group id of each worker of a whole round: its node, or one for all."""
    return nodes if nodes_tell(nodes) else np.zeros(len(nodes), np.int64)


def nodes_tell(nodes: IntArray) -> bool:
    """Return whether the nodes of a whole round are known and hold several workers each."""
    known = nodes[nodes != NO_NODE]
    return len(known) == len(nodes) and len(nodes) >= SMALLEST_GROUP * len(np.unique(known))


def followed(
    factors: Factors,
    groups: IntArray,
    law: FloatArray,
    cell: IntArray,
    observed: BoolArray,
    late: bool = False,
    homes: bool = False,
) -> Factors:
    """Return the factors after a round, or after late reports of older ones.

    Args:
        factors: before the round.
        groups: `(n,)` group of each worker.
        law: `(n, cells)` law of each worker's next run time at factor 1.
        cell: `(n,)` cell of the run time seen, or of the bound it exceeds.
        observed: `(n,)` whether the run time was seen; otherwise it exceeds the bound.
        late: whether these are late reports: they say where a factor was, not that a round has passed.
        homes: whether places are compared from where each group usually is, see `_from_homes`.
    """
    ids, where = np.unique(groups, return_inverse=True)
    before = factors.laws_of(ids)
    expected = before if late else _moved(factors, ids, before, homes)
    evidence = np.zeros((len(ids), len(SHIFTS)))
    np.add.at(evidence, where, _evidence(law, cell, observed))
    with np.errstate(divide="ignore"):
        score = np.log(expected) + evidence
    after = np.exp(score - score.max(axis=1, keepdims=True))
    after /= after.sum(axis=1, keepdims=True)
    if late:
        return _merged(factors, ids, after, factors.visits_of(ids))
    jumped = np.abs(np.argmax(after, axis=1) - np.argmax(before, axis=1)) >= LEAST_JUMP
    return replace(
        _merged(factors, ids, after, factors.visits_of(ids) * (1.0 - FORGET) + after),
        jumps=factors.jumps * (1.0 - FORGET) + float(jumped.sum()),
        chances=factors.chances * (1.0 - FORGET) + len(ids),
    )


def _merged(factors: Factors, ids: IntArray, laws: FloatArray, visited: FloatArray) -> Factors:
    """Return the factors with those of some groups replaced or added."""
    others = ~np.isin(factors.groups, ids)
    groups = np.concatenate([factors.groups[others], ids])
    order = np.argsort(groups)
    return replace(
        factors,
        groups=groups[order],
        laws=np.concatenate([factors.laws[others], laws])[order],
        visited=np.concatenate([factors.visited[others], visited])[order],
    )


def _evidence(law: FloatArray, cell: IntArray, observed: BoolArray) -> FloatArray:
    """Return `(n, shifts)` the log-likelihood of each time under each shift; censored ones by survival."""
    chances = np.where(observed[:, None], law, 0.0)
    if not observed.all():
        cut = ~observed
        chances[cut] = 1.0 - np.cumsum(law[cut], axis=1)
    at = np.clip(cell[:, None] - SHIFTS[None, :], 0, COUNT - 1)
    picked = np.take_along_axis(chances, at, axis=1)
    out: FloatArray = np.maximum(np.log(np.maximum(picked, 1e-300)), LEAST_LOG)
    return out


def _moved(factors: Factors, ids: IntArray, laws: FloatArray, homes: bool) -> FloatArray:
    """Return `(k, shifts)` the beliefs one round on: stay, or jump, mostly to places visited before."""
    likeliest = SHIFTS[np.argmax(laws, axis=1)]
    distance = np.abs(SHIFTS[None, :] - likeliest[:, None])
    anywhere = np.exp(-distance / PER_OCTAVE)
    visited = _from_homes(factors, ids) if homes else _smooth(factors.visited.sum(axis=0))
    places = 0.9 * visited + 0.1 * anywhere / anywhere.sum(axis=1, keepdims=True)
    places = np.where(distance < LEAST_JUMP, 0.0, places)
    out: FloatArray = (1.0 - factors.jump_rate) * laws + factors.jump_rate * places
    return out


def _from_homes(factors: Factors, ids: IntArray) -> FloatArray:
    """Return `(k, shifts)` the shifts of groups: each group's own, and others' relative to their home.

    What factor 1 means is up to each group: its workers may have been slow when they were first seen. Without this a
    group that was is now and then expected to become slow twice over, which distorts far quantiles.
    """
    together = np.zeros(len(SHIFTS))
    for row in factors.visited:
        together += _slid(row, -_home(row))
    out = np.empty((len(ids), len(SHIFTS)))
    for k, own in enumerate(factors.visits_of(ids)):
        others = _slid(together, _home(own))
        out[k] = _smooth(own / max(float(own.sum()), 1e-9) + others / max(float(others.sum()), 1e-9))
    return out


def _smooth(visited: FloatArray) -> FloatArray:
    """Return `(shifts,)` the share of the time spent near each shift."""
    near = np.convolve(visited, np.full(5, 0.2), mode="same")
    out: FloatArray = near / max(float(near.sum()), 1e-9)
    return out


def _home(visited: FloatArray) -> int:
    """Return the fast end of a group's shifts: the shift below which it spends one round in six."""
    total = float(visited.sum())
    return int(np.searchsorted(np.cumsum(visited), total / 6.0)) - REACH if total > 0.0 else 0


def _slid(row: FloatArray, by: int) -> FloatArray:
    """Move what stands at shift s to s + by; what leaves the range is dropped."""
    out = np.zeros_like(row)
    if by >= 0:
        out[by:] = row[: len(row) - by]
    else:
        out[:by] = row[-by:]
    return out


def scenarios(factors: Factors, ids: IntArray, homes: bool = False) -> tuple[IntArray, FloatArray]:
    """Return the likeliest factors of each group in the next round.

    Returns:
        `(groups, PLACES)` shifts, the likeliest first, and their probabilities.
    """
    moved = _moved(factors, ids, factors.laws_of(ids), homes)
    shifts = np.empty((len(ids), PLACES), np.int64)
    weights = np.empty((len(ids), PLACES))
    for k, law in enumerate(moved):
        shifts[k], weights[k] = _likeliest(law, 0.1 * factors.jump_rate / PLACES)
    used = weights.max(axis=0) > 0.0
    return shifts[:, used], weights[:, used]


def _likeliest(law: FloatArray, strange: float) -> tuple[IntArray, FloatArray]:
    """Return the likeliest shifts of one group, well apart; strange ones where few are likely."""
    left = law.copy()
    window = np.ones(2 * (LEAST_JUMP // 2) + 1)
    shifts = np.argmax(law) - REACH + np.array(STRANGE)
    weights = np.full(PLACES, strange)
    for k in range(PLACES):
        top = int(np.argmax(np.convolve(left, window, mode="same")))
        nearby = slice(max(0, top - LEAST_JUMP // 2), top + LEAST_JUMP // 2 + 1)
        mass = float(left[nearby].sum())
        if k and mass <= strange:
            break
        shifts[k] = SHIFTS[nearby][np.argmax(left[nearby])]
        weights[k] = mass
        left[nearby] = 0.0
    return shifts, weights / weights.sum()
