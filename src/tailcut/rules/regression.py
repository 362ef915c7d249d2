"""A plain regression: the next round's best cutoff from those of the last rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.order import best_cutoff
from tailcut.rules.backup import wait_for
from tailcut.rules.base import Opening, Rule
from tailcut.rules.warm_up import until_twice_the_median
from tailcut.types import Decision, FloatArray, Progress, RoundRecord, Seconds

QUANTILES = (0.1, 0.5, 0.9)
"""Quantiles of a round's run times that the regression reads beside its best cutoff."""


@dataclass(frozen=True, slots=True, eq=False)
class RegressionMemory:
    """The results of the last rounds, oldest first.

    Attributes:
        rows: `(rounds, 1 + quantiles)` each round's best cutoff as a share of its workers, then quantiles of the
            logarithms of its run times over the unit.
        unit: seconds, a power of two near the first round's median; 0 before it. Dividing by it is exact, so that no
            unit of time matters.
    """

    rows: FloatArray
    unit: Seconds


@final
@dataclass(frozen=True, slots=True)
class Regression(Rule[RegressionMemory, int | None]):
    """Predict the next round's best cutoff by ridge regression on the last rounds, and wait for that many.

    After a round its best cutoff is known, c* = argmax of c / (x_(c) + overhead). Its share of the workers is
    regressed on what the `lags` rounds before showed: their own shares, and a few quantiles of the logarithms of
    their run times, all relative to their usual values. The fit is made anew for every round over the last `window`
    rounds; its size depends on neither the number of workers nor who they are, so workers may come and go.

    The mean of what would have been best is not what is best on the mean: where one worker too many costs much more
    than one too few, as with rare and very slow workers, it waits too often.

    It needs all run times, of cut workers too. Given only those of closed rounds it takes the best cutoff
    among what it saw, and as that is never more than it waited for, it cuts more and more.

    The plan is the cutoff, None before the first round, which closes at twice its median arrival.

    Attributes:
        window: rounds fitted to, at least 2.
        lags: rounds back that a prediction looks, at least 1.
        ridge: how strongly coefficients are drawn to 0, in rounds' worth of evidence, over 0.

    Example:
        >>> from tailcut.types import Roster
        >>> rule = Regression()
        >>> steady = np.tile([0.75, -0.1, 0.0, 0.2], (20, 1))
        >>> rule.plan(RegressionMemory(steady, unit=1.0), Opening(Roster.of(16), forecast=None))
        12
    """

    window: int = 50
    lags: int = 3
    ridge: float = 1.0

    def __post_init__(self) -> None:
        if self.window < 2:
            raise ParameterError(f"window must be at least 2 rounds, but got {self.window}; give 50, say.")
        if self.lags < 1:
            raise ParameterError(f"lags must be at least 1 round, but got {self.lags}; give 3, say.")
        if not 0 < self.ridge < math.inf:
            raise ParameterError(f"ridge must be over 0 and finite, but got {self.ridge}; give 1.0, say.")

    def start(self) -> RegressionMemory:
        """Return a memory of no rounds."""
        return RegressionMemory(np.zeros((0, 1 + len(QUANTILES))), unit=0.0)

    def plan(self, memory: RegressionMemory, opening: Opening) -> int | None:
        """Return the predicted cutoff for the workers that take part; None before the first round."""
        if not len(memory.rows):
            return None
        n = len(opening.roster)
        return int(np.clip(np.rint(predicted(memory.rows, self.lags, self.ridge) * n), 1, n))

    def decide(self, plan: int | None, progress: Progress) -> Decision:
        """Wait for the cutoff."""
        return until_twice_the_median(progress) if plan is None else wait_for(plan, progress)

    def learn(self, memory: RegressionMemory, plan: int | None, record: RoundRecord) -> RegressionMemory:
        """Find what would have been best, and keep it with the round's quantiles."""
        del plan
        times = np.sort(record.run_times.seconds[record.run_times.observed])
        if not len(times):
            return memory
        keep = self.window + self.lags
        unit = memory.unit or math.ldexp(1.0, math.frexp(float(np.median(times)))[1] - 1)
        best = best_cutoff(np.arange(1.0, len(times) + 1.0), times, record.overhead)
        quantiles = np.quantile(np.log(times / unit), QUANTILES)
        row = np.concatenate([[best / max(len(record.roster), len(times))], quantiles])
        return RegressionMemory(np.vstack([memory.rows, row])[-keep:], unit)


def predicted(rows: FloatArray, lags: int, ridge: float) -> float:
    """Predict the first column's next value by ridge regression on the `lags` rows before it.

    Columns are centered and scaled to unit variance, the mean is not drawn to 0. The fit minimizes
    Σ (y − ȳ − z·w)² + ridge·|w|². With fewer than two rows to fit, it is the mean so far.

    Args:
        rows: `(rounds, columns)` oldest first, at least one.
        lags: rows that a prediction is made from.
        ridge: over 0.

    Example:
        >>> alternating = np.array([[0.25], [1.0]] * 10)
        >>> round(predicted(alternating, lags=2, ridge=1e-6), 4)
        0.25
    """
    targets = rows[lags:, 0]
    if len(targets) < 2:
        return float(rows[:, 0].mean())
    # One line for every target, and a last one for the round to come; the most recent row comes last in each.
    lines = np.lib.stride_tricks.sliding_window_view(rows, lags, axis=0).reshape(len(targets) + 1, -1)
    past, mean = lines[:-1], targets.mean()
    centre, spread = past.mean(axis=0), past.std(axis=0)
    # A column that is constant but for rounding tells nothing; dividing by its spread would make rounding a signal.
    told = spread > 1e-9 * np.maximum(np.abs(centre), 1e-9)
    z = (lines[:, told] - centre[told]) / spread[told]
    known = z[:-1]
    weights = np.linalg.solve(known.T @ known + ridge * np.eye(known.shape[1]), known.T @ (targets - mean))
    return float(mean + z[-1] @ weights)
