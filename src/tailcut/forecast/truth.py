"""The truth: the cluster's own law given its hidden state at the end of the last round. A bound, not a method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from tailcut.forecast.base import Forecaster
from tailcut.forecast.carry import carry_over
from tailcut.types import FloatArray, Forecast, Roster, RunTimes


@final
@dataclass(frozen=True, slots=True, eq=False)
class Truth(Forecaster[int]):
    """Knows the law of the next round, though not the next run times.

    Attributes:
        law: hidden state `(k,)` to forecast, as `Cluster.law`.
        hidden: `(rounds, k)` row t is the hidden state at the end of round t - 1, as `Sample.hidden`.
    """

    law: Callable[[FloatArray], Forecast]
    hidden: FloatArray

    def start(self) -> int:
        """Return 0, the number of the first round."""
        return 0

    def learn(self, belief: int, seen: RunTimes) -> int:
        """Return the number of the next round; late reports do not change it."""
        return belief if seen.late else belief + 1

    def forecast(self, belief: int, roster: Roster) -> Forecast:
        """Return the law of the roster's workers in the next round."""
        whole = self.law(self.hidden[min(belief, len(self.hidden) - 1)])
        if not np.array_equal(whole.workers, roster.workers):
            rows = np.searchsorted(whole.workers, roster.workers)
            whole = replace(
                whole,
                workers=roster.workers,
                survival=whole.survival[:, rows],
                groups=whole.groups[rows],
            )
        return carry_over(whole, roster.busy)
