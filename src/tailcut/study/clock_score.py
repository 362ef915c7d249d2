"""The clock score: the yield of a run on a table if its states lasted for seconds, not for rounds.

On a table every close moves the state on, so a policy that closes early in slow states spends fewer seconds in them. A
real cluster stays slow for as long as it does. So the rounds are cut into blocks within which states hardly change, and
each block counts for the seconds that waiting for all spends in it, whatever the policy spends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailcut.bounds.fixed import SideBySide, side_by_side
from tailcut.bounds.sorted_rounds import SortedRounds
from tailcut.engines.simulated import Run
from tailcut.table import Table
from tailcut.types import FloatArray, IntArray, Seconds

BLOCK = 25
"""Rounds in a block."""
MAX_CUTOFFS, MAX_FINISH_CUTOFFS = 256, 64
"""Most cutoffs tried in each block, where late work is abandoned and where it is finished, which takes longer."""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The gradients and seconds that a table offers, block by block.

    Attributes:
        starts: `(blocks,)` first round of each, warm-up rounds left out.
        seconds: `(blocks,)` seconds that waiting for all spends in each.
        best: `(blocks,)` gradients per second of the best fixed cutoff in each.
    """

    starts: IntArray
    seconds: FloatArray
    best: FloatArray

    @staticmethod
    def of(table: Table, waiting: Run, overhead: Seconds, late_finish: bool, skip: int) -> Blocks:
        """Cut a table into blocks.

        Args:
            table: run times.
            waiting: the run that waits for all.
            overhead: seconds between a close and the next opening.
            late_finish: whether late workers finish their work.
            skip: rounds of the warm-up.
        """
        starts = np.arange(skip, max(table.rounds - BLOCK + 1, skip + 1), BLOCK)
        found = _cutoffs(table, overhead, late_finish)
        counts, costs = (np.add.reduceat(part, starts, axis=0) for part in (found.counts, found.costs))
        seconds = np.add.reduceat(waiting.elapsed + overhead, starts)
        return Blocks(starts, seconds, (counts / costs).max(axis=1))

    def score(self, run: Run) -> float:
        """Return the gradients over those of the best cutoffs, weighted by block; NaN if the run is short."""
        if run.rounds <= self.starts[-1]:
            return float("nan")
        values = np.add.reduceat(run.values, self.starts)
        spent = np.add.reduceat(run.elapsed + run.overhead, self.starts)
        return float((self.seconds * values / spent).sum() / (self.seconds * self.best).sum())


def _cutoffs(table: Table, overhead: Seconds, late_finish: bool) -> SideBySide:
    n = table.workers
    most = MAX_FINISH_CUTOFFS if late_finish else MAX_CUTOFFS
    cutoffs = np.unique(np.linspace(1, n, min(n, most)).astype(int))
    if late_finish:
        return side_by_side(table, overhead, True, cutoffs=cutoffs.astype(float))
    rounds = SortedRounds.of(table)
    each = [rounds.cut_at_count(count) for count in cutoffs.tolist()]
    counts = np.stack([count for count, _ in each], axis=1).astype(np.float64)
    return SideBySide(counts, np.stack([elapsed for _, elapsed in each], axis=1) + overhead)
