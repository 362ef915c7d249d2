"""The factor that workers share, a factor of any size on all run times of a group (a node, or the whole cluster).

A factor is a shift in cells. What it will be in the next round is a mixture, whose weights all groups share and learn
by one step of online EM a round:

    at home          the middle of where the group has been
    around home      by 2 to 45 %, drawn afresh in every round: mini-batches that vary in length
    stays            where it was, moved by nothing, 1, 5 or 12 %: load that lasts or wanders
    comes back       to places that groups have been to
    anywhere         rather near than far

The belief about it is a probability for every shift, exact up to the cells; the same likelihoods reweight it during a
round (`tailcut.shared_outlook`) and after it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from tailcut.forecast.trend.cells import PER_OCTAVE, shift_columns
from tailcut.forecast.trend.factors import grouping
from tailcut.shifts import Evidence, some_of, survival_of
from tailcut.types import FloatArray, IntArray, RunTimes, Settled

REACH = 8 * PER_OCTAVE
"""Largest shift either way: a factor of 256."""
SHIFTS = np.arange(-REACH, REACH + 1)
AROUND = (0.02, 0.05, 0.1, 0.2, 0.45)
"""Standard deviations of a fresh factor, in log seconds."""
WANDER = (0.0, 0.012, 0.05, 0.12)
"""Standard deviations of the move of a factor that stays, in log seconds."""
FIRST = np.array(
    [
        [0.30, *[0.06] * 5, 0.08, 0.08, 0.08, 0.08, 0.05, 0.03],
        [0.05, *[0.03] * 5, 0.41, 0.08, 0.08, 0.08, 0.10, 0.05],
    ]
)
"""Weights of the mixture before anything was seen, for a group at home and one away: what has left home may last."""
LEAST = 0.001
"""Smallest weight of a part, so that every part can come back."""
FORGET = 1.0 / 300.0
ADAPT = 1.0 / 25.0
SIMPLER = 1.5
"""Weight by which a factor at home is multiplied where a round does not tell: chance alone moves the mean of all."""
ASTRAY, AWAY = 0.05, 0.5
"""Chance of having been at or around home under which a round was elsewhere, and what then is kept of home's past."""
FAR, LEFT = 3 * PER_OCTAVE, 0.1
"""Cells beyond which a round was far from home, and the share of home's past that is then kept."""
NEAR = 4
"""Cells around the likeliest shift over which it is averaged."""
MOST_TELLING = 512
"""Most workers, about, by which shifts are judged after a round; of more, a regular sample counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """The belief about each group's factor, and about how factors move.

    Attributes:
        groups: `(k,)` group ids, increasing.
        laws: `(k, shifts)` probability of each shift in the last round.
        visited: `(k, shifts)` discounted rounds that each group has spent at each shift.
        recent: `(k, shifts)` the same since its home has last moved: the middle of it is home.
        weights: `(2, parts)` how often the next shift comes from each part of the mixture: after a round at home, away.
        by_node: whether the groups of the last whole round were nodes, or all workers one.
    """

    groups: IntArray
    laws: FloatArray
    visited: FloatArray
    recent: FloatArray
    weights: FloatArray
    by_node: bool = False

    @staticmethod
    def nothing() -> Shared:
        """Return a belief about no groups."""
        empty = np.zeros((0, len(SHIFTS)))
        return Shared(np.empty(0, np.int64), empty, empty, empty, FIRST)

    def groups_of(self, seen: RunTimes) -> IntArray:
        """Return `(n,)` the group id of each worker; late reports are grouped as the last whole round."""
        if not seen.late:
            return grouping(seen.nodes)
        return seen.nodes if self.by_node else np.zeros(len(seen), np.int64)

    def shift_of(self, groups: IntArray) -> FloatArray:
        """Return `(n,)` the likeliest shift of each group id, in fractional cells; 0 for new groups."""
        ids, where = np.unique(groups, return_inverse=True)
        laws = _rows(self.groups, self.laws, ids)
        top = np.argmax(laws, axis=1)
        near = np.abs(SHIFTS[None, :] - SHIFTS[top][:, None]) <= NEAR
        around = laws * near
        total = around.sum(axis=1)
        mean = (around @ SHIFTS) / np.where(total > 0.0, total, 1.0)
        out: FloatArray = mean[where]
        return out

    def moved(self, cells: int) -> Shared:
        """Return the same factors, seen from a unit that is so many cells larger."""
        laws, visited, recent = (
            shift_columns(table, cells) for table in (self.laws, self.visited, self.recent)
        )
        return replace(self, laws=laws, visited=visited, recent=recent)


def prior(shared: Shared, ids: IntArray) -> FloatArray:
    """Return `(groups, shifts)` the law of each group's factor in the next round."""
    parts, away = _parts(shared, ids)
    return _mixed(shared.weights[away], parts)


def settled(shared: Shared, ids: IntArray) -> Settled | None:
    """Return the prior if all groups were at home, and their chance to be there; None if they are.

    An open round soon shows whether a group is back; a second is then worth what it is worth at home.
    """
    parts, away = _parts(shared, ids)
    if not away.any():
        return None
    mixture = shared.weights[away]
    near = 1 + len(AROUND)
    whole = _mixed(mixture, parts)
    at_home = _mixed(mixture[:, :near], parts[:near]) / np.maximum(whole, 1e-300)
    laws = parts[0]  # The point at home.
    visited, recent = (_rows(shared.groups, table, ids) for table in (shared.visited, shared.recent))
    back = replace(shared, groups=ids, laws=laws, visited=visited, recent=recent)
    return Settled(prior(back, ids), at_home)


def followed(
    shared: Shared,
    groups: IntArray,
    law: FloatArray,
    beyond: FloatArray,
    position: FloatArray,
    observed: np.ndarray,
    late: bool,
) -> Shared:
    """Return the factors after a round, or after late reports of older ones.

    Args:
        shared: the belief before the round.
        groups: `(n,)` group of each worker.
        law: `(n, cells)` honest law of each worker at shift 0.
        beyond: `(n,)` probability of each law beyond the cells.
        position: `(n,)` position of the run time or bound in cells; it may lie outside them.
        observed: `(n,)` whether the run time was seen; otherwise it exceeds the bound.
        late: whether these are late reports: they say where a factor was, not that a round has passed.
    """
    some = some_of(groups, MOST_TELLING)
    ids, where = np.unique(groups[some], return_inverse=True)
    law, position, observed = law[some], position[some], observed[some]
    evidence = Evidence(law, survival_of(law, beyond[some]), where, len(ids), REACH)
    seen, cut = np.flatnonzero(observed), np.flatnonzero(~observed)
    logs = evidence.of_arrivals(seen, position[seen])
    if len(cut):
        logs = logs + evidence.of_bounds(cut, position[cut])
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    if late:
        after = _rows(shared.groups, shared.laws, ids) * likelihood
        total = after.sum(axis=1, keepdims=True)
        after = np.divide(
            after, total, out=likelihood / likelihood.sum(axis=1, keepdims=True), where=total > 0.0
        )
        visited, recent = (_rows(shared.groups, table, ids) for table in (shared.visited, shared.recent))
        return _merged(shared, ids, after, visited, recent)
    parts, away = _parts(shared, ids)
    mixture = shared.weights[away]
    after = _mixed(mixture, parts) * likelihood
    total = after.sum(axis=1)
    after /= total[:, None]
    share = mixture.T * np.einsum("cgs,gs->cg", parts, likelihood)
    at_home = share[: 1 + len(AROUND)].sum(axis=0) > ASTRAY * total
    share[0] *= SIMPLER
    share /= share.sum(axis=0)
    weights = shared.weights.copy()
    for state in np.unique(away).tolist():
        mean = share[:, away == state].mean(axis=1)
        weights[state] = np.maximum(weights[state] + ADAPT * (mean - weights[state]), LEAST)
    visited = _rows(shared.groups, shared.visited, ids) * (1.0 - FORGET) + after
    recent = _rows(shared.groups, shared.recent, ids)
    is_far = np.abs(np.argmax(after, axis=1) - _homes(recent)) > FAR
    keep = np.where(at_home, 1.0 - FORGET, np.where(is_far, LEFT, AWAY))
    recent = recent * keep[:, None] + after
    return replace(
        _merged(shared, ids, after, visited, recent), weights=weights / weights.sum(axis=1, keepdims=True)
    )


def _mixed(weights: FloatArray, parts: FloatArray) -> FloatArray:
    """Return `(groups, shifts)` the mean of `(parts, groups, shifts)` laws, `weights` `(groups, parts)`."""
    out: FloatArray = np.einsum("gc,cgs->gs", weights, parts)
    return out


def _parts(shared: Shared, ids: IntArray) -> tuple[FloatArray, IntArray]:
    """Return `(parts, groups, shifts)` laws of the mixture, and `(groups,)` 1 where away from home."""
    visited, recent = (_rows(shared.groups, table, ids) for table in (shared.visited, shared.recent))
    home = _homes(recent)
    last = _rows(shared.groups, shared.laws, ids)
    last[last.sum(axis=1) == 0.0, REACH] = 1.0
    point = np.zeros_like(last)
    point[np.arange(len(ids)), home] = 1.0
    *fresh, anywhere = _distances()
    stays = [last if width == 0.0 else _blurred(last, width) for width in WANDER]
    out = np.stack(
        [
            point,
            *(_centered(kernel, home) for kernel in fresh),
            *stays,
            _back(shared, visited, home),
            _centered(anywhere, np.argmax(last, axis=1)),
        ]
    )
    out /= out.sum(axis=2, keepdims=True)
    away = np.abs(np.argmax(last, axis=1) - home) > NEAR
    return out, away.astype(np.int64)


def _homes(recent: FloatArray) -> IntArray:
    """Return `(groups,)` the index of the median of each group's recent shifts; no shift if unknown."""
    total = recent.sum(axis=1)
    middle = np.argmax(np.cumsum(recent, axis=1) >= 0.5 * total[:, None], axis=1)
    out: IntArray = np.where(total > 0.0, middle, REACH)
    return out


def _back(shared: Shared, visited: FloatArray, home: IntArray) -> FloatArray:
    """Return `(groups, shifts)` the shifts each group has had, and those of all relative to their homes."""
    away = np.zeros(len(SHIFTS))
    for row in shared.visited:
        total = row.sum()
        if total > 0.0:
            away += shift_columns(row, int(np.searchsorted(np.cumsum(row), 0.5 * total)) - REACH)
    out = np.empty((len(home), len(SHIFTS)))
    for k, own in enumerate(visited):
        others = shift_columns(away, REACH - int(home[k]))
        out[k] = own / max(float(own.sum()), 1e-9) + others / max(float(others.sum()), 1e-9)
    out[:, REACH] += 1e-9
    return _blurred(out, 0.03)


def _merged(
    shared: Shared, ids: IntArray, laws: FloatArray, visited: FloatArray, recent: FloatArray
) -> Shared:
    """Return the factors with those of some groups replaced or added."""
    others = ~np.isin(shared.groups, ids)
    groups = np.concatenate([shared.groups[others], ids])
    order = np.argsort(groups)
    return replace(
        shared,
        groups=groups[order],
        laws=np.concatenate([shared.laws[others], laws])[order],
        visited=np.concatenate([shared.visited[others], visited])[order],
        recent=np.concatenate([shared.recent[others], recent])[order],
    )


def _rows(groups: IntArray, table: FloatArray, ids: IntArray) -> FloatArray:
    """Return `(n, shifts)` the rows of group ids; zeros for those not known."""
    out = np.zeros((len(ids), table.shape[1]))
    if len(groups):
        place = np.minimum(np.searchsorted(groups, ids), len(groups) - 1)
        known = groups[place] == ids
        out[known] = table[place[known]]
    return out


def _centered(kernel: FloatArray, at: IntArray) -> FloatArray:
    """Return `(n, shifts)` a kernel of twice the range, centered at indices `at`."""
    windows = np.lib.stride_tricks.sliding_window_view(kernel, len(SHIFTS))
    out: FloatArray = windows[2 * REACH - at]
    return out


@lru_cache(maxsize=1)
def _distances() -> tuple[FloatArray, ...]:
    """Return kernels `(2·shifts − 1,)`: of a fresh factor in each width, and of one that may be anywhere."""
    away = np.arange(-2 * REACH, 2 * REACH + 1) / PER_OCTAVE
    fresh = [np.exp(-0.5 * (away * np.log(2.0) / spread) ** 2) for spread in AROUND]
    return *fresh, np.exp(-np.abs(away))


def _kernel(spread: float) -> FloatArray:
    """Return `(odd,)` normal weights around 0, `spread` in log seconds."""
    cells = spread / np.log(2.0) * PER_OCTAVE
    half = int(np.ceil(4.0 * cells))
    raw = np.exp(-0.5 * (np.arange(-half, half + 1) / cells) ** 2)
    out: FloatArray = raw / raw.sum()
    return out


def _blurred(laws: FloatArray, spread: float) -> FloatArray:
    """Return `(groups, shifts)` the laws moved by a normal step."""
    kernel = _kernel(spread)
    return np.stack([np.convolve(law, kernel, mode="same") for law in laws])
