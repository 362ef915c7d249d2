"""The evidence of run times about a factor that a group of workers shares, on cells of equal width in log seconds.

Multiplying run times by a factor shifts their logarithms, so with a shift of s cells the law P of a worker becomes
P(z − s). A seen run time at z has likelihood P(z − s), one known to exceed z has S(z − s): both are slices of a table,
and the survivals of all who are out add up to one curve before they are shifted. So the likelihood of hundreds of
shifts costs hardly more than that of one.

Laws have outliers mixed in: a worker may be late with a small probability, and early with a probability that
falls with the number of workers, so that a round has few early outliers. Without late outliers, silence would
prove a slow round; without early ones, one early arrival among thousands would prove a fast one.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tailcut.types import FloatArray, IntArray

TAIL = 0.02
"""Hazard per cell outside the cells: upwards beyond the last one, and downwards below the first one."""
LATE, EARLY = 0.002, 0.02
"""Probability that a worker is a late outlier, and that any worker of a round is an early outlier."""
LOG_TAIL = float(np.log1p(-TAIL))


@lru_cache(maxsize=4)
def _freaks(cells: int) -> tuple[FloatArray, FloatArray]:
    """`(2·cells + 1,)` laws of late and of early outliers, by distance from the level; index `cells` is 0."""
    distance = np.arange(-cells, cells + 1)
    falling = TAIL * (1.0 - TAIL) ** np.abs(distance)
    late, early = np.where(distance >= 0, falling, 0.0), np.where(distance <= 0, falling, 0.0)
    for law in (late, early):
        law.setflags(write=False)
    return late, early


def honest(
    law: FloatArray, levels: IntArray, crowd: int, left: FloatArray | float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Mix outliers into laws.

    Args:
        law: `(n, cells)` probability of each cell; rows sum to 1 with `left`.
        levels: `(n,)` the cell from which the distance of outliers is measured.
        crowd: number of workers in a round.
        left: `(n,)` probability beyond the last cell.

    Returns:
        `(n, cells)` the laws, and `(n,)` what is left beyond the last cell.
    """
    cells = law.shape[1]
    early = EARLY / crowd
    slow, fast = _freaks(cells)
    freaks = LATE * slow + early * fast
    windows = np.lib.stride_tricks.sliding_window_view(freaks, cells)
    mixed = windows[cells - levels] + (1.0 - LATE - early) * law
    beyond = LATE * (1.0 - TAIL) ** (cells - levels).astype(np.float64) + (1.0 - LATE - early) * left
    # Early outliers below the first cell are few: they count as in the first cell.
    mixed[:, 0] += early * (1.0 - TAIL) ** (levels + 1.0)
    return mixed, beyond


def survival_of(law: FloatArray, beyond: FloatArray) -> FloatArray:
    """`(n, cells)` probability of a run time beyond the end of each cell; never 0, since rounding must not decide."""
    out = np.cumsum(law[:, :0:-1], axis=1)[:, ::-1] + beyond[:, None]
    return np.concatenate([out, beyond[:, None]], axis=1)


class Evidence:
    """Log-likelihoods of shifts for some workers, prepared for many queries. It never changes.

    Attributes:
        reach: largest shift either way.
    """

    def __init__(
        self,
        law: FloatArray,
        survival: FloatArray,
        groups: IntArray,
        count: int,
        reach: int,
    ) -> None:
        """Tabulate logarithms.

        Args:
            law: `(m, cells)` probability of each cell, positive.
            survival: `(m, cells)` probability of a run time beyond the end of each cell, positive.
            groups: `(m,)` group of each worker, 0..count-1.
            count: groups.
            reach: largest shift either way.
        """
        self.reach = reach
        self._cells = law.shape[1]
        self._pad = 2 * reach + 2
        ramp = np.arange(1, self._pad + 1) * LOG_TAIL
        logs = np.log(law)
        self._law = np.concatenate([logs[:, :1] + ramp[::-1], logs, logs[:, -1:] + ramp], axis=1)
        self._survival = _padded(np.log(survival), np.ones(len(law)), self._pad)
        self._members = [groups == group for group in range(count)]

    def of_arrivals(self, who: IntArray, position: FloatArray) -> FloatArray:
        """`(groups, shifts)` log-likelihood of run times.

        Args:
            who: `(k,)` rows.
            position: `(k,)` where the run times lie, in cells.
        """
        cell = np.floor(self._held(position)).astype(np.int64)
        return self._by_group(who, self._windows(self._law, who, cell))

    def of_bounds(self, who: IntArray, position: FloatArray) -> FloatArray:
        """`(groups, shifts)` log-likelihood of run times known to exceed `position` `(k,)` cells."""
        position = self._held(position)
        if len(who) > 1 and (position == position[0]).all():
            # All workers are out until the same position: their curves are added up before they are shifted.
            total = self._by_group(who, self._survival[who])
            return self._beyond(total, np.arange(len(total)), np.full(len(total), position[0]))
        return self._by_group(who, self._beyond(self._survival, who, position))

    def _held(self, position: FloatArray) -> FloatArray:
        """Positions within the tables, whatever the shift."""
        return np.clip(position, -self.reach, self._cells + self.reach)

    def _beyond(self, table: FloatArray, rows: IntArray, position: FloatArray) -> FloatArray:
        """`(k, shifts)` log-survival at each position less every shift, linear within a cell."""
        cell = np.floor(position)
        after = self._windows(table, rows, cell.astype(np.int64))
        before = self._windows(table, rows, cell.astype(np.int64) - 1)
        return before + (position - cell)[:, None] * (after - before)

    def _windows(self, table: FloatArray, rows: IntArray, cell: IntArray) -> FloatArray:
        """`(k, shifts)` each row's entries at `cell` less every shift."""
        windows = np.lib.stride_tricks.sliding_window_view(table, 2 * self.reach + 1, axis=1)
        picked: FloatArray = windows[rows, cell - self.reach + self._pad][:, ::-1]
        return picked

    def _by_group(self, who: IntArray, rows: FloatArray) -> FloatArray:
        """`(groups, …)` sums; computed without a matrix product, see `outlook`."""
        return np.stack([rows[mine[who]].sum(axis=0) for mine in self._members])


class Silence:
    """Log-likelihoods of shifts if no worker of a group has arrived, summed over its workers."""

    def __init__(self, survival: FloatArray, groups: IntArray, count: int, reach: int) -> None:
        """Add up logarithms; arguments as of `Evidence`."""
        self._reach = reach
        self._cells = survival.shape[1]
        self._pad = 2 * reach + 2
        members = [groups == group for group in range(count)]
        totals = np.stack([np.log(survival[mine]).sum(axis=0) for mine in members])
        crowds = np.array([float(np.count_nonzero(mine)) for mine in members])
        self._table = _padded(totals, crowds, self._pad)

    def until(self, position: float) -> FloatArray:
        """`(groups, shifts)` log-probability that no worker arrives up to a position in cells."""
        held = float(np.clip(position, -self._reach, self._cells + self._reach))
        cell = int(np.floor(held))
        width = 2 * self._reach + 1
        start = cell - self._reach + self._pad
        after = self._table[:, start : start + width][:, ::-1]
        before = self._table[:, start - 1 : start - 1 + width][:, ::-1]
        out: FloatArray = before + (held - cell) * (after - before)
        return out


def _padded(logs: FloatArray, crowds: FloatArray, pad: int) -> FloatArray:
    """`(m, …)` log-survivals of `crowds` `(m,)` workers together, also before and beyond their cells."""
    ramp = np.arange(1, pad + 1) * LOG_TAIL
    return np.concatenate([np.zeros((len(logs), pad)), logs, logs[:, -1:] + crowds[:, None] * ramp], axis=1)


def some_of(groups: IntArray, most: int, least: int = 8) -> IntArray:
    """Return rows of a sample of workers by which shifts are judged: evenly spaced in each group, in order.

    Args:
        groups: `(n,)` group of each worker.
        most: about how many workers in all.
        least: least number of workers of each group, where it has as many.
    """
    if len(groups) <= most:
        return np.arange(len(groups))
    chosen = []
    for group in np.unique(groups):
        mine = np.flatnonzero(groups == group)
        want = min(len(mine), max(least, most * len(mine) // len(groups)))
        chosen.append(mine[(np.arange(want) * len(mine)) // want])
    return np.sort(np.concatenate(chosen))


def normalized(logs: FloatArray) -> FloatArray:
    """`(groups, shifts)` probabilities from log odds."""
    out: FloatArray = np.exp(logs - logs.max(axis=1, keepdims=True))
    out /= out.sum(axis=1, keepdims=True)
    return out


def few_of(chances: FloatArray, most: int, rare: float = 1e-3) -> tuple[IntArray, FloatArray]:
    """Represent a law of shifts by few of them.

    Args:
        chances: `(shifts,)` probabilities.
        most: most representatives; where more shifts are likely, neighbors are merged.
        rare: total probability of the rarest shifts, which are left out.

    Returns:
        Shifts −reach..reach and their probabilities.
    """
    order = np.argsort(chances, kind="stable")
    at = np.sort(order[np.cumsum(chances[order]) > rare])
    weights = chances[at]
    if len(at) > most:
        # Each representative has an equal share of Σ √p: the flanks are resolved as well as the middle.
        root = np.sqrt(weights)
        reached = np.cumsum(root)
        block = np.minimum((most * (reached - 0.5 * root) / reached[-1]).astype(np.int64), most - 1)
        total = np.bincount(block, weights=weights, minlength=most)
        mean = np.bincount(block, weights=weights * at, minlength=most)
        used = total > 0.0
        at = np.floor(mean[used] / total[used] + 0.5 + 1e-9).astype(np.int64)
        weights = total[used].astype(np.float64)
    out: FloatArray = weights / weights.sum()
    return at - len(chances) // 2, out


def positions(seconds: FloatArray, origin: float, per_octave: int) -> FloatArray:
    """Return the positions of seconds in cells, also outside the range that is covered; −∞ for 0."""
    with np.errstate(divide="ignore"):
        out: FloatArray = np.log2(seconds / origin) * per_octave
    return out
