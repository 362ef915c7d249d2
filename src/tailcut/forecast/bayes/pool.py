"""The law of all workers: for a newcomer, and for where a worker may be after a jump."""

from __future__ import annotations

import numpy as np

from tailcut.forecast.trend.cells import blurred
from tailcut.forecast.trend.own import MOST_UNKNOWN, Tally, hazard
from tailcut.types import FloatArray

MOST_SPREADS = 64
"""Workers whose laws tell the spread; of k times as many, every k-th worker counts."""
NARROW = 0.5
"""Width of a kernel, in cells, below which smoothing changes nothing."""


def law(tally: Tally, smooth: bool = True) -> FloatArray:
    """Return `(cells,)` the probability of each cell."""
    survival = np.cumprod(1.0 - np.minimum(hazard(tally, MOST_UNKNOWN), 1.0))
    out = -np.diff(survival, prepend=1.0)
    out[-1] += survival[-1]
    return blurred(out) if smooth else out


def smoothed(laws: FloatArray, sample: float, part: float = 1.0) -> FloatArray:
    """Spread laws as far as so many run times leave open.

    What hundreds of workers say of their common factor is a product over all of them. A law from few run times has
    peaks and gaps of its own, which the product would take for the truth. So the law is convolved with a normal
    kernel of Silverman's width, 0.9 · spread · sample^(−1/5), the spread the median over workers of the smaller of
    standard deviation and interquartile range / 1.35.

    Args:
        laws: `(n, cells)` probability of each cell.
        sample: number of run times that the laws come from.
        part: factor by which the kernel is narrower than that.

    Returns:
        `(n, cells)` laws of the same mass.
    """
    size = laws.shape[1]
    width = 0.9 * part * _spread(laws[:: 1 + len(laws) // MOST_SPREADS]) * max(sample, 1.0) ** -0.2
    if width < NARROW:
        return laws
    half = int(np.ceil(4.0 * width))
    kernel = np.exp(-0.5 * (np.arange(-half, half + 1) / width) ** 2)
    # Transforms of such lengths are fast; what is beyond the laws is empty.
    whole = 64 * -(-(size + 2 * half) // 64)
    spectrum = np.fft.rfft(laws, whole, axis=1) * np.fft.rfft(kernel / kernel.sum(), whole)
    spilled = np.maximum(np.fft.irfft(spectrum, whole, axis=1), 0.0)
    out: FloatArray = spilled[:, half : half + size].copy()
    # Mass that would leave the cells stays in the first and the last.
    out[:, 0] += spilled[:, :half].sum(axis=1)
    out[:, -1] += spilled[:, half + size :].sum(axis=1)
    return out


def _spread(laws: FloatArray) -> float:
    """Return the median spread of laws, in cells; that of one is its deviation or quartile range, if smaller."""
    cells = np.arange(laws.shape[1])
    mass = laws.sum(axis=1)
    middle = laws @ cells / mass
    deviation = np.sqrt(np.maximum(laws @ cells**2 / mass - middle**2, 0.0))
    reached = np.cumsum(laws, axis=1) / mass[:, None]
    lower, upper = (np.argmax(reached >= level, axis=1) for level in (0.25, 0.75))
    return float(np.median(np.minimum(deviation, (upper - lower) / 1.35)))
