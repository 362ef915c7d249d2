"""What workers share: a factor on all run times of a group (a node, or the whole cluster) that jumps now and then.

A factor is a shift in cells. After each round its most probable value is found exactly, over all shifts, from the
group's seen and censored times; before each round, staying and a few places visited earlier are the scenarios that
arrivals and silences decide between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailcut.forecast.trend.cells import COUNT, PER_OCTAVE
from tailcut.types import NO_NODE, BoolArray, FloatArray, IntArray

REACH = 3 * PER_OCTAVE
"""Largest shift either way: a factor of 8."""
SHIFTS = np.arange(-REACH, REACH + 1)
LEAST_JUMP = 6
"""Cells a jump must have (14 %); less is left to the workers' own laws."""
SMALLEST_GROUP = 3
"""Mean workers per node below which nodes tell less than the cluster as a whole."""
PLACES = 3
STRANGE = (22, 44, 66)
"""Shifts (× 1.6, 2.6, 4.2) kept in mind until enough places have been visited."""
FORGET = 1.0 / 300.0
LEAST_LOG = np.log(1e-5)


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """Current factor of each group and what is known of how factors move.

    Attributes:
        groups: `(k,)` group ids, increasing.
        shifts: `(k,)` current factor of each, in cells.
        visited: `(2·REACH + 1,)` discounted rounds that groups have spent at each shift.
        jumps: discounted number of jumps.
        chances: discounted number of group-rounds.
    """

    groups: IntArray
    shifts: IntArray
    visited: FloatArray
    jumps: float = 1.0
    chances: float = 100.0

    @staticmethod
    def none() -> Factors:
        """No group known."""
        return Factors(np.empty(0, np.int64), np.empty(0, np.int64), np.zeros(len(SHIFTS)))

    def shift_of(self, groups: IntArray) -> IntArray:
        """`(n,)` current shift of each group id; 0 for new ones."""
        if len(self.groups) == 0:
            return np.zeros(len(groups), np.int64)
        place = np.minimum(np.searchsorted(self.groups, groups), len(self.groups) - 1)
        return np.where(self.groups[place] == groups, self.shifts[place], 0)

    @property
    def jump_rate(self) -> float:
        """Chance that a group's factor jumps in a round."""
        return self.jumps / self.chances


def grouping(nodes: IntArray) -> IntArray:
    """`(n,)` group id of each worker: its node where nodes hold several workers each, otherwise one for all."""
    known = nodes[nodes != NO_NODE]
    if len(known) < len(nodes) or len(nodes) < SMALLEST_GROUP * len(np.unique(known)):
        return np.zeros(len(nodes), np.int64)
    return nodes


def followed(
    factors: Factors, groups: IntArray, law: FloatArray, cell: IntArray, observed: BoolArray
) -> Factors:
    """The factors after a round: each group moves to its most probable shift.

    Args:
        factors: before the round.
        groups: `(n,)` group of each worker.
        law: `(n, cells)` law of each worker's next run time at factor 1.
        cell: `(n,)` cell of the run time seen, or of the bound it exceeds.
        observed: `(n,)` which of the two.
    """
    ids, where = np.unique(groups, return_inverse=True)
    shifts = factors.shift_of(ids)
    evidence = _evidence(law, cell, observed)
    prior = _jump_prior(factors)
    visited, jumps = factors.visited * (1.0 - FORGET), 0
    for k in range(len(ids)):
        score = evidence[where == k].sum(axis=0) + np.where(
            np.abs(SHIFTS - shifts[k]) < LEAST_JUMP, -np.inf, prior
        )
        stay = shifts[k] + REACH
        score[stay] = evidence[where == k, stay].sum() + np.log1p(-factors.jump_rate)
        best = int(np.argmax(score))
        jumps += best != stay
        shifts[k] = SHIFTS[best]
        visited[best] += 1.0
    merged = dict(zip(factors.groups.tolist(), factors.shifts.tolist(), strict=True))
    merged.update(zip(ids.tolist(), shifts.tolist(), strict=True))
    known = np.array(sorted(merged), np.int64)
    return Factors(
        groups=known,
        shifts=np.array([merged[g] for g in known.tolist()], np.int64),
        visited=visited,
        jumps=factors.jumps * (1.0 - FORGET) + jumps,
        chances=factors.chances * (1.0 - FORGET) + len(ids),
    )


def _evidence(law: FloatArray, cell: IntArray, observed: BoolArray) -> FloatArray:
    """`(n, shifts)` log-likelihood of each worker's time under each shift; censored ones by their survival."""
    chances = np.where(observed[:, None], law, 0.0)
    if not observed.all():
        cut = ~observed
        chances[cut] = 1.0 - np.cumsum(law[cut], axis=1)
    at = np.clip(cell[:, None] - SHIFTS[None, :], 0, COUNT - 1)
    picked = np.take_along_axis(chances, at, axis=1)
    out: FloatArray = np.maximum(np.log(np.maximum(picked, 1e-300)), LEAST_LOG)
    return out


def _jump_prior(factors: Factors) -> FloatArray:
    """`(shifts,)` log-odds of jumping there: mostly to places visited before, sometimes anywhere."""
    near = np.convolve(factors.visited, np.full(5, 0.2), mode="same")
    total = near.sum()
    anywhere = 1.0 / len(SHIFTS)
    places = 0.9 * near / total + 0.1 * anywhere if total > 0 else np.full(len(SHIFTS), anywhere)
    out: FloatArray = np.log(factors.jump_rate * places)
    return out


def scenarios(factors: Factors, ids: IntArray) -> tuple[IntArray, FloatArray]:
    """What each group's factor may be in the next round.

    Returns:
        `(groups, 1 + PLACES)` shifts, staying first, and their probabilities.
    """
    current = factors.shift_of(ids)
    places = _places(factors)
    shifts = np.repeat(current[:, None], 1 + PLACES, axis=1)
    weights = np.zeros(shifts.shape)
    away = [np.abs(place - current) >= LEAST_JUMP for place, _ in places]
    total = sum((mass * far for (_, mass), far in zip(places, away, strict=True)), np.zeros(len(ids)))
    for k in range(PLACES):
        if k < len(places):
            place, mass = places[k]
            shifts[:, k + 1] = place
            weights[:, k + 1] = np.where(
                away[k], 0.9 * factors.jump_rate * mass / np.maximum(total, 1e-9), 0.0
            )
        else:
            shifts[:, k + 1] = current + STRANGE[k]
            weights[:, k + 1] = 0.1 * factors.jump_rate / PLACES
    weights[:, 0] = 1.0 - weights.sum(axis=1)
    used = weights.max(axis=0) > 0.0
    return shifts[:, used], weights[:, used]


def _places(factors: Factors) -> list[tuple[int, float]]:
    """The shifts where groups have spent most rounds, well apart from each other, with the rounds spent there."""
    near = np.convolve(factors.visited, np.ones(5), mode="same")
    out: list[tuple[int, float]] = []
    while len(out) < PLACES and near.max() > 0.5:
        top = int(np.argmax(near))
        out.append((int(SHIFTS[top]), float(near[top])))
        near[max(0, top - LEAST_JUMP) : top + LEAST_JUMP + 1] = 0.0
    return out
