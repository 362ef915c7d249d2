"""The deep part: a small network, trained beforehand on simulated clusters, that corrects the hazards of a forecast.

For each worker it reads how surprising the worker, its node and the cluster were of late (`context`), and answers with
one number per bin of the forecast's own scale u = F(x): by how much to raise or lower the log odds of arriving in that
bin, given not having arrived before. All zeros leave a forecast as it is. The last bins are the tail, the first ones
say how likely a slow worker has recovered: hazards and jump odds in one. One network serves any number of workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.forecast.bayes.context import FEATURES
from tailcut.types import FloatArray

EDGES = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.995, 1.0])
"""Ends of the bins of u."""
HAZARDS = len(EDGES) - 2
"""Number of bins whose hazard can be corrected; the hazard of the last bin is 1."""
SIZES = (FEATURES, 32, 32, HAZARDS)
"""Width of each layer, from input to output."""
MOST = 4.0
"""Largest correction of log odds."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Deep:
    """A network of two hidden layers.

    Attributes:
        weights: `(in, out)` matrix of each layer.
        biases: `(out,)` of each layer.
    """

    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]

    def corrections(self, features: FloatArray) -> FloatArray:
        """Return `(n, HAZARDS)` the corrections of the log odds of each bin's hazard."""
        layer = features
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            layer = np.tanh(layer @ weight + bias)
        out: FloatArray = MOST * np.tanh((layer @ self.weights[-1] + self.biases[-1]) / MOST)
        return out

    def corrected(self, features: FloatArray, law: FloatArray) -> FloatArray:
        """Return `(n, cells)` the laws with corrected hazards."""
        return with_hazards(law, self.corrections(features))


def plain_log_odds() -> FloatArray:
    """Return `(HAZARDS,)` the log odds of each bin's hazard when u is uniform, as in a right forecast."""
    hazard = np.diff(EDGES)[:-1] / (1.0 - EDGES[:-2])
    out: FloatArray = np.log(hazard / (1.0 - hazard))
    return out


def with_hazards(law: FloatArray, corrections: FloatArray) -> FloatArray:
    """Return laws `(n, cells)` with the log odds of their bins' hazards changed by `(n, HAZARDS)`.

    The new distribution function is G(F(x)), G linear within each bin.
    """
    survival = np.cumprod(1.0 / (1.0 + np.exp(plain_log_odds() + corrections)), axis=1)
    reached = np.ones((len(law), len(EDGES)))
    reached[:, 0] = 0.0
    reached[:, 1:-1] = 1.0 - survival
    before = np.clip(np.cumsum(law, axis=1), 0.0, 1.0)
    bins = np.clip(np.searchsorted(EDGES, before, side="right") - 1, 0, len(EDGES) - 2)
    slope = np.diff(reached, axis=1) / np.diff(EDGES)
    after = np.take_along_axis(reached, bins, axis=1)
    after += np.take_along_axis(slope, bins, axis=1) * (before - EDGES[bins])
    out: FloatArray = np.maximum(np.diff(after, axis=1, prepend=0.0), 0.0)
    return out
