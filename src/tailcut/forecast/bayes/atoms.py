"""Values that run times repeat exactly, as on a coarse clock: workers with equal ones arrive together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailcut.types import FloatArray, RunTimes

MOST = 64
"""Most values remembered; run times that take more are as good as continuous."""
MEMORY = 200.0
"""Rounds over which values are forgotten."""
PACE = 1.0 / 10.0
"""Weight of the newest round in the share of repeated run times."""
ENOUGH = 0.9
"""Share of repeated run times from which on values are taken for all there are."""


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """The belief about values that run times repeat.

    Attributes:
        values: `(k,)` seconds seen of late, increasing.
        counts: `(k,)` discounted number of run times at each.
        repeated: discounted share of run times at a value seen before, or by another worker in the same round.
        rounds: value that `repeated` would have if all run times were repeated.
    """

    values: FloatArray
    counts: FloatArray
    repeated: float
    rounds: float

    @staticmethod
    def nothing() -> Atoms:
        """Return a belief of no run times."""
        return Atoms(np.zeros(0), np.zeros(0), 0.0, 0.0)

    def known(self) -> FloatArray:
        """Return `(k,)` the atoms; none where run times are continuous."""
        return self.values if self.repeated > ENOUGH * self.rounds else np.zeros(0)

    def after(self, seen: RunTimes) -> Atoms:
        """Return the belief after a round."""
        seconds = seen.seconds[seen.observed]
        if seen.late or not len(seconds):
            return self
        new, counts = np.unique(seconds, return_counts=True)
        again = (counts > 1) | np.isin(new, self.values)
        share = float(counts[again].sum()) / len(seconds)
        values, place = np.unique(np.concatenate([self.values, new]), return_inverse=True)
        weights = np.concatenate([self.counts * (1.0 - 1.0 / MEMORY), counts])
        total = np.bincount(place, weights=weights, minlength=len(values))
        kept = np.sort(np.argsort(-total, kind="stable")[:MOST])
        return Atoms(
            values[kept],
            total[kept].astype(np.float64),
            self.repeated + PACE * (share - self.repeated),
            self.rounds + PACE * (1.0 - self.rounds),
        )
