"""The gradient noise scale: how many samples an update needs before more of them stop paying.

Each update of N samples is also N/s smaller ones of s samples. With G the true gradient and S the trace of a single
sample's covariance, a mean over s samples has E|g|² = |G|² + S/s; two sizes give both unknowns, unbiased:

    |G|² = (N·|g_big|² − s·|g_small|²) / (N − s),    S = (|g_small|² − |g_big|²) / (1/s − 1/N).

Their ratio in one round is neither unbiased nor bounded, so the two are averaged separately and B = mean(S) /
mean(|G|²) (McCandlish, Kaplan, Amodei et al. 2018, arXiv 1812.06162, appendix A).

The length of the memory is a trade-off. Early in training |G|² is large and falls within a few rounds: a long
memory would give a B far too small. Near the optimum |G|² is small against the noise and needs many rounds.
So each mean is kept in several ways, with shorter and longer memories of a value that stays or falls, and the
way that best predicted the latest rounds is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tailcut.types import FloatArray, Measured

MEMORIES = (128.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0)
"""Memories of the averages, in rounds."""
DRIFTS = (1.0, 0.95, 0.85)
"""Factors by which a value is assumed to change each round."""
TRIAL = 8.0
"""Memory, in rounds, of the prediction errors by which the ways of averaging are compared."""

DOUBT = 2.0
"""Factor on the squared errors of the ways that assume a falling value: noise can look like a fall."""

_ALL_WRONG = 1e9
_HUGE = 1e300
"""Squared gradient norm from which on a run has diverged."""
# A steady value and a long memory come first: they are used where the ways have equal errors.
_NEW = np.tile(1.0 / np.array(MEMORIES), len(DRIFTS))
_LEFT = np.repeat(DRIFTS, len(MEMORIES))
_DOUBTS = np.where(_LEFT < 1.0, DOUBT, 1.0)
_NEW.flags.writeable = _LEFT.flags.writeable = _DOUBTS.flags.writeable = False


def _nothing() -> FloatArray:
    return np.zeros(len(_NEW))


@dataclass(frozen=True, slots=True, eq=False)
class Average:
    """A running mean whose memory adapts to the noise. Arrays are `(ways,)`, one value per way of averaging.

    Attributes:
        weights: total weight of the values in the sums, 0 at first and nearing 1; a mean is sums / weights.
        sums: exponentially discounted sums of values, as expected for the next round.
        errors: discounted sums of squared prediction errors, relative to the median error of the round.
    """

    weights: FloatArray = field(default_factory=_nothing)
    sums: FloatArray = field(default_factory=_nothing)
    errors: FloatArray = field(default_factory=_nothing)

    @property
    def next(self) -> float | None:
        """The prediction of the next value; None before the first value."""
        if not self.weights[0]:
            return None
        best = int(np.argmin(self.errors * _DOUBTS))
        return float(self.sums[best] / self.weights[best])

    def after(self, value: float) -> Average:
        """Return the average after one more value, which must be unbiased and finite."""
        weights = self.weights + _NEW * (1.0 - self.weights)
        sums = _LEFT * (self.sums + _NEW * (value - self.sums))
        return Average(weights, sums, self._judged(value))

    def _judged(self, value: float) -> FloatArray:
        """Return the errors after one more value, relative to the median error: so all rounds weigh alike."""
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
    """The estimates of the gradient noise from all updates so far.

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
        """The noise scale B in samples, for the next round; None while it is unknown.

        It is infinite where the gradient cannot be distinguished from the noise.
        """
        gradient, variance = self.gradient.next, self.variance.next
        if gradient is None or variance is None:
            return None
        if gradient > 0:
            return max(variance, 0.0) / gradient
        return math.inf if variance > 0 else None


def after(noise: Noise, measured: Measured | None) -> Noise:
    """Return the estimates after one more update; an update without a usable measurement changes nothing.

    Args:
        noise: estimates before the update.
        measured: measurements of the update's gradients, None where there are none.
    """
    seen = None if measured is None else estimates(measured)
    if seen is None or not any(seen):
        return noise
    return Noise(noise.gradient.after(seen[0]), noise.variance.after(seen[1]))


def estimates(measured: Measured) -> tuple[float, float] | None:
    """|G|² and S of one update, each unbiased; None without two sizes, or if a number is too large or NaN."""
    big_samples, small_samples = float(measured.samples), float(measured.small_samples)
    if not 0.0 < small_samples < big_samples:
        return None
    # Shares of the samples instead of products with them: a product with a large squared norm might overflow.
    share = small_samples / big_samples
    gradient = (measured.big - share * measured.small) / (1.0 - share)
    variance = small_samples * ((measured.small - measured.big) / (1.0 - share))
    return (gradient, variance) if abs(gradient) < _HUGE and abs(variance) < _HUGE else None
