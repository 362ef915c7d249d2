"""The result of a simulated run: one row per round, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tailcut.types import BoolArray, FloatArray, IntArray, Seconds


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """The rounds of one policy on one table.

    Attributes:
        elapsed: `(rounds,)` seconds from opening to close.
        counts: `(rounds,)` gradients used.
        values: `(rounds,)` the same, partial ones counted by their share.
        accepted: `(rounds, workers)` whether a gradient of that worker was used in that round.
        idle: `(rounds,)` seconds that workers spent waiting between their arrival and the close, all workers added up.
        present: `(rounds,)` workers that took part.
        overhead: seconds between a close and the next opening.
        staleness: `(gradients,)` rounds between a used gradient's version and the round that used it.
        opened: `(rounds,)` when each round opened, seconds since the first one did.
        weights: `(rounds,)` each, how much the parts of the forecast counted, where it was a blend of several.
    """

    elapsed: FloatArray
    counts: IntArray
    values: FloatArray
    accepted: BoolArray
    idle: FloatArray
    present: IntArray
    overhead: Seconds
    staleness: IntArray
    opened: FloatArray
    weights: Mapping[str, FloatArray] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """The number of closed rounds."""
        return len(self.elapsed)

    def throughput(self, skip: int = 0) -> float:
        """Return the gradients per second after the first `skip` rounds."""
        return float(self.values[skip:].sum() / (self.elapsed[skip:] + self.overhead).sum())

    def idle_share(self, skip: int = 0) -> float:
        """Return the mean share of time that a worker waits for others, after the first `skip` rounds."""
        paid = ((self.elapsed[skip:] + self.overhead) * self.present[skip:]).sum()
        return float(self.idle[skip:].sum() / paid)
