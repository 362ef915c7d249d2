"""Training samples for the network of `bayes`, apart from its training so that making them needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

from tailcut.types import BoolArray, FloatArray, IntArray

HELD_OUT = 0.15
"""Share of the rounds of a table, the last ones, that are not trained on."""


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Training samples of the network of `bayes`, one per worker and round.

    Attributes:
        features: `(N, FEATURES)` inputs of the network.
        bins: `(N,)` number of the bin of u into which each true run time fell.
        held_out: `(N,)` true for samples that are not trained on: later rounds, or other clusters.
    """

    features: FloatArray
    bins: IntArray
    held_out: BoolArray

    def __len__(self) -> int:
        return len(self.bins)
