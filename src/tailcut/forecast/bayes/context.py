"""The history that the deep part reads: how surprising each worker, its node and the cluster were of late.

Surprise is measured on the forecast's own scale: u = F(x), a number between 0 and 1 whatever the unit of time, as the
logit of u. A cut worker, of whom only x > bound is known, counts with the middle of what is left, (1 + F(bound)) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailcut.forecast.bayes.levels import KINDS, MOVES, Rates
from tailcut.types import BoolArray, FloatArray, IntArray, RunTimes

FAST, SLOW = 0.3, 0.05
"""Weights of the newest round in the two running means."""
COLUMNS = (
    "rounds heard of",
    "cuts in a row",
    "last surprise",
    "running mean of surprises",
    "running mean of their squares",
    "mean surprise of the node in the last round",
    "mean surprise of the cluster in the last round",
    "share of the cluster cut in the last round",
    "chance given to be in by the last close",
)
OF_LAW = ("10 % quantile", "90 % quantile", "99 % quantile", "median, from the cluster's")
FEATURES = len(COLUMNS) + len(OF_LAW) + len(MOVES) + KINDS + 1
SURELY = 1e-9
"""Smallest difference of probabilities that counts: rounding depends on the order of workers."""
OCTAVE = 32.0
"""Cells per octave, the unit in which features measure distances."""


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """`(m, columns)` one row per worker, see `COLUMNS`."""

    rows: FloatArray

    @staticmethod
    def of(count: int) -> Context:
        """Return a context in which nothing has happened."""
        return Context(np.zeros((count, len(COLUMNS))))

    def grown(self, known: BoolArray, at: IntArray) -> Context:
        """Return the rows for more workers: those `known` are the old rows `at`, the others are new."""
        rows = np.zeros((len(known), len(COLUMNS)))
        rows[known] = self.rows[at]
        return Context(rows)

    def after(self, rows: IntArray, law: FloatArray, position: FloatArray, seen: RunTimes) -> Context:
        """Return the context after a round, or after late reports.

        Args:
            rows: `(n,)` rows of the workers of `seen`.
            law: `(n, cells)` the laws that were forecast for them.
            position: `(n,)` positions of their run times in cells.
            seen: the run times.
        """
        out = self.rows.copy()
        mine = out[rows]
        total = np.cumsum(law, axis=1)
        reached = reached_by(law, position, total)
        surprise = logit(np.where(seen.observed, reached, 0.5 + 0.5 * reached))
        first = mine[:, 0] == 0.0
        mine[:, 0] += 1.0
        mine[:, 1] = np.where(seen.observed, 0.0, mine[:, 1] + 1.0)
        mine[:, 2] = surprise
        mine[:, 3] += np.where(first, 1.0, FAST) * (surprise - mine[:, 3])
        mine[:, 4] += np.where(first, 1.0, SLOW) * (surprise**2 - mine[:, 4])
        if not seen.late:
            mine[:, 5] = _group_means(seen.nodes, surprise)
            mine[:, 6] = surprise.mean()
            mine[:, 7] = 1.0 - seen.observed.mean()
            mine[:, 8] = reached_by(law, np.broadcast_to(position.max(), position.shape), total)
        out[rows] = mine
        return Context(out)


def features(
    context: Context, rates: Rates, rows: IntArray, law: FloatArray, everybody: FloatArray, crowd: float
) -> FloatArray:
    """Return `(n, FEATURES)` the inputs of the deep part, all of the order of 1 and free of units.

    Args:
        context: context of all workers.
        rates: rates of the filter.
        rows: `(n,)` rows of the workers whose features are returned.
        law: `(n, cells)` their laws before the correction.
        everybody: `(cells,)` the law of all workers.
        crowd: number of workers in a round.
    """
    past = context.rows[rows]
    reached = np.cumsum(law, axis=1)
    tenth, median, ninth, last = (
        np.count_nonzero(reached < level - SURELY, axis=1) / OCTAVE for level in (0.1, 0.5, 0.9, 0.99)
    )
    middle = np.count_nonzero(np.cumsum(everybody) < 0.5 - SURELY) / OCTAVE
    n = len(rows)
    columns = [
        np.log1p(past[:, 0]) / 3.0,
        np.log1p(past[:, 1]) / 2.0,
        past[:, 2] / 3.0,
        past[:, 3] / 3.0,
        np.sqrt(past[:, 4]) / 3.0,
        past[:, 5] / 2.0,
        past[:, 6],
        past[:, 7],
        past[:, 8],
        median - tenth,
        ninth - median,
        np.minimum(last - median, 6.0) / 2.0,
        np.clip(median - middle, -4.0, 4.0),
        *(np.full(n, rate) for rate in (*rates.moves.tolist(), *rates.kinds.tolist())),
        np.full(n, np.log(max(crowd, 1.0)) / 5.0),
    ]
    out: FloatArray = np.clip(np.stack(columns, axis=1), -4.0, 4.0)
    return out


def reached_by(law: FloatArray, position: FloatArray, total: FloatArray | None = None) -> FloatArray:
    """Return `(n,)` F(position) under each row's law, linear within a cell; `total` is its running sum."""
    cell = position.astype(np.int64)
    rows = np.arange(len(law))
    reached = np.cumsum(law, axis=1) if total is None else total
    before = np.where(cell > 0, reached[rows, np.maximum(cell - 1, 0)], 0.0)
    out: FloatArray = before + (position - cell) * law[rows, cell]
    return np.clip(out, 0.0, 1.0)


def logit(chance: FloatArray) -> FloatArray:
    """Return log(u / (1 − u)), held within ± 7."""
    inside = np.clip(chance, 1e-3, 1.0 - 1e-3)
    out: FloatArray = np.log(inside / (1.0 - inside))
    return out


def _group_means(groups: IntArray, values: FloatArray) -> FloatArray:
    """Return `(n,)` the mean over each one's group."""
    _, where, counts = np.unique(groups, return_inverse=True, return_counts=True)
    sums = np.bincount(where, weights=values)
    out: FloatArray = (sums / counts)[where]
    return out
