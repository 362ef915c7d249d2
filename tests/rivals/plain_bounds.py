"""The clairvoyant of docs/design.md, written anew for the tests of rivals: it shares no code with tailcut."""

from __future__ import annotations

import numpy as np

WINDOW = 100


def throughput(seconds: np.ndarray, cutoffs: np.ndarray, skip: int) -> float:
    """Gradients per second of taking the first so many of each round, the first `skip` rounds left out."""
    closes = np.sort(seconds, axis=1)[np.arange(len(cutoffs)), cutoffs - 1]
    return float(cutoffs[skip:].sum() / closes[skip:].sum())


def clairvoyant_cutoffs(seconds: np.ndarray) -> np.ndarray:
    """c_t = argmax c − λ_t x_(c), λ_t the highest rate over the last 100 rounds, round t included.

    λ is found by taking, again and again, the rate of what is best at the rate before: it rises to the highest one.
    """
    arrivals = np.sort(seconds, axis=1)
    counts = np.arange(1, arrivals.shape[1] + 1)
    out = np.empty(len(arrivals), dtype=np.int64)
    for t in range(len(arrivals)):
        recent = arrivals[max(0, t - WINDOW + 1) : t + 1]
        rate, before = 0.0, -1.0
        while rate > before:
            taken = 1 + np.argmax(counts - rate * recent, axis=1)
            waited = recent[np.arange(len(recent)), taken - 1]
            before, rate = rate, float(taken.sum() / waited.sum())
        out[t] = taken[-1]
    return out
