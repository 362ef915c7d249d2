"""Shares of the clairvoyant in parts of a run, where the law or the members change in its middle.

The clairvoyant's price of a second comes from its last 100 rounds. Right after a change those are of another law, and
it would close too early or too late. So the rounds from a change on are held against a clairvoyant that starts there:
in the first 100 of them its price comes from those 100 themselves, as in any other 100 rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tailcut.bounds import clairvoyant, clairvoyant_whole
from tailcut.bounds.foresight import WINDOW
from tailcut.engines.simulated import Run
from tailcut.table import Table
from tailcut.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some rounds of one run: `(rounds,)` gradients and seconds of a policy, and of the clairvoyant."""

    counts: IntArray
    elapsed: FloatArray
    best_counts: IntArray
    best_elapsed: FloatArray

    @staticmethod
    def since(change: int, counts: IntArray, elapsed: FloatArray, table: Table) -> Part:
        """The rounds of a run through a table from a change on."""
        after = _rows(table, change, table.rounds)
        first = clairvoyant_whole(_rows(after, 0, WINDOW)).run
        best = [first, clairvoyant(after).run] if after.rounds > WINDOW else [first]
        skip = [0, WINDOW]
        return Part(
            counts[change:],
            elapsed[change:],
            np.concatenate([run.counts[begin:] for run, begin in zip(best, skip, strict=False)]),
            np.concatenate([run.elapsed[begin:] for run, begin in zip(best, skip, strict=False)]),
        )

    @staticmethod
    def before(change: int, last: int, run: Run, table: Table) -> Part:
        """The last rounds of a run through a table before a change."""
        best = clairvoyant(_rows(table, 0, change)).run
        some = slice(max(change - last, 0), change)
        return Part(run.counts[some], run.elapsed[some], best.counts[some], best.elapsed[some])


def _rows(table: Table, begin: int, end: int) -> Table:
    return replace(table, seconds=table.seconds[begin:end], observed=table.observed[begin:end])


def share(parts: Sequence[Part], begin: int = 0, end: int | None = None) -> float:
    """Rate over the clairvoyant's rate in rounds `begin` to `end` of each part, all parts pooled."""
    some = slice(begin, end)
    gradients, best_gradients = (
        sum(int(counts[some].sum()) for counts in every)
        for every in ([part.counts for part in parts], [part.best_counts for part in parts])
    )
    seconds, best_seconds = (
        sum(float(elapsed[some].sum()) for elapsed in every)
        for every in ([part.elapsed for part in parts], [part.best_elapsed for part in parts])
    )
    return (gradients / seconds) / (best_gradients / best_seconds)


def window_shares(parts: Sequence[Part], width: int) -> FloatArray:
    """`(rounds // width,)` the share in each window, all parts pooled."""
    count = len(parts[0].counts) // width
    return np.array([share(parts, width * k, width * (k + 1)) for k in range(count)])
