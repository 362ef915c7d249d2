"""The gradient noise scale: how many samples an update needs before more of them stop paying.

Each update of N samples is also N/s smaller ones of s samples. With G the true gradient and S the trace of a single
sample's covariance, a mean over s samples has E|g|² = |G|² + S/s; two sizes give both unknowns, unbiased:

    |G|² = (N·|g_big|² − s·|g_small|²) / (N − s),    S = (|g_small|² − |g_big|²) / (1/s − 1/N).

Their ratio in one round is neither unbiased nor bounded, so the two are averaged apart and B = mean(S) / mean(|G|²)
(McCandlish, Kaplan, Amodei et al. 2018, arXiv 1812.06162, appendix A).

How far back to average is a trade. Early in training |G|² is plain to see and falls within a few rounds, so that a long
memory would give a B far too small; near the optimum it hides in the noise and needs many. So each mean is kept in
several ways at once, with shorter and longer memories of a value that stays or falls, and the one that best foretold
the latest rounds is believed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tailcut.types import FloatArray, Measured

MEMORIES = (128.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0)
"""Rounds over which averages forget."""
DRIFTS = (1.0, 0.95, 0.85)
"""What is left of a value in the round after."""
TRIAL = 8.0
"""Rounds over which it is forgotten how well each way foretold."""

DOUBT = 2.0
"""How much better a falling value must foretell than a steady one to be believed: noise looks like both."""

_ALL_WRONG = 1e9
_HUGE = 1e300
"""Squared norms beyond this are those of a run that has diverged."""
# A steady value and a long memory come first: they are believed where nothing tells the ways apart.
_NEW = np.tile(1.0 / np.array(MEMORIES), len(DRIFTS))
_LEFT = np.repeat(DRIFTS, len(MEMORIES))
_DOUBTS = np.where(_LEFT < 1.0, DOUBT, 1.0)
_NEW.flags.writeable = _LEFT.flags.writeable = _DOUBTS.flags.writeable = False


def _nothing() -> FloatArray:
    return np.zeros(len(_NEW))


@dataclass(frozen=True, slots=True, eq=False)
class Average:
    """A mean that follows what it averages as quickly as can be told from noise. Arrays are `(ways,)`.

    Attributes:
        weights: of all that was seen, 0 at first and nearing 1: what the sums lack for a mean.
        sums: exponentially discounted, as they would be for the round to come.
        errors: discounted squares of what each way was off by, relative to the others in the same round.
    """

    weights: FloatArray = field(default_factory=_nothing)
    sums: FloatArray = field(default_factory=_nothing)
    errors: FloatArray = field(default_factory=_nothing)

    @property
    def next(self) -> float | None:
        """What the next value is expected to be; None before the first."""
        if not self.weights[0]:
            return None
        best = int(np.argmin(self.errors * _DOUBTS))
        return float(self.sums[best] / self.weights[best])

    def after(self, value: float) -> Average:
        """With one more value, unbiased and finite."""
        weights = self.weights + _NEW * (1.0 - self.weights)
        sums = _LEFT * (self.sums + _NEW * (value - self.sums))
        return Average(weights, sums, self._judged(value))

    def _judged(self, value: float) -> FloatArray:
        """Errors count relative to the usual one, so that rounds weigh alike however much there was to be off by."""
        if not self.weights[0]:
            return self.errors
        off = np.abs(value - self.sums / self.weights)
        usual = float(np.median(off))
        if not usual > 0.0:
            return self.errors
        with np.errstate(over="ignore"):
            relative = np.minimum(off / usual, _ALL_WRONG)
        judged: FloatArray = (1.0 - 1.0 / TRIAL) * self.errors + relative**2
        return judged


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """What the gradients so far showed.

    Attributes:
        gradient: |G|², the squared norm of the true gradient; sampling noise can make it negative.
        variance: S, the trace of the covariance of one sample's gradient.

    Example:
        >>> update = Measured(loss=1.0, samples=64, batch=16, big=1.5, small=3.0, small_samples=16, rate=0.1)
        >>> after(Noise(), update).scale
        32.0
    """

    gradient: Average = field(default_factory=Average)
    variance: Average = field(default_factory=Average)

    @property
    def scale(self) -> float | None:
        """B in samples, for the round to come; None while nothing is known.

        Infinite where no gradient can be told from the noise.
        """
        gradient, variance = self.gradient.next, self.variance.next
        if gradient is None or variance is None:
            return None
        if gradient > 0:
            return max(variance, 0.0) / gradient
        return math.inf if variance > 0 else None


def after(noise: Noise, measured: Measured | None) -> Noise:
    """What is known after one more update; one that tells nothing changes nothing.

    Args:
        noise: what was known.
        measured: what the update's gradients showed.
    """
    seen = None if measured is None else estimates(measured)
    if seen is None or not any(seen):
        return noise
    return Noise(noise.gradient.after(seen[0]), noise.variance.after(seen[1]))


def estimates(measured: Measured) -> tuple[float, float] | None:
    """|G|² and S of one update, each unbiased; None where two sizes cannot be told apart or a number is not finite."""
    big_samples, small_samples = float(measured.samples), float(measured.small_samples)
    if not 0.0 < small_samples < big_samples:
        return None
    # Shares of the samples instead of products with them: squared norms may be near the largest number there is.
    share = small_samples / big_samples
    gradient = (measured.big - share * measured.small) / (1.0 - share)
    variance = small_samples * ((measured.small - measured.big) / (1.0 - share))
    return (gradient, variance) if abs(gradient) < _HUGE and abs(variance) < _HUGE else None
