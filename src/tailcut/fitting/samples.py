"""What the deep part of `bayes` learns from; processes that make samples need no torch."""

from __future__ import annotations

from dataclasses import dataclass

from tailcut.types import BoolArray, FloatArray, IntArray

HELD_OUT = 0.15
"""Share of the rounds of a table, the last ones, that are not trained on."""


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """What to learn from.

    Attributes:
        features: `(N, FEATURES)` what the network reads.
        bins: `(N,)` into which bin of u each true run time fell.
        held_out: `(N,)` not to be trained on: later rounds, or other clusters.
    """

    features: FloatArray
    bins: IntArray
    held_out: BoolArray

    def __len__(self) -> int:
        return len(self.bins)
