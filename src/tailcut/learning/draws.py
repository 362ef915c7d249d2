"""Random numbers by place: each is a function of a few whole numbers (seed, worker, mini-batch, sample).

The order of calls does not matter: every policy sees the same data, and a resumed run continues exactly as it
would have without a break. The mixing is that of SplitMix64 (Steele et al., 2014). For several independent
numbers at one place, add one more whole number to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailcut.types import FloatArray, IntArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_OTHER = np.uint64(0xD1B54A32D192ED03)


def mixed(seed: int, *places: IntArray | int) -> NDArray[np.uint64]:
    """64 random bits for every place; the arrays broadcast."""
    bits = np.asarray(seed & 0xFFFFFFFFFFFFFFFF, dtype=np.uint64)
    with np.errstate(over="ignore"):
        bits = _stirred(bits + _GOLDEN)
        for place in places:
            bits = _stirred((bits ^ np.asarray(place, dtype=np.int64).astype(np.uint64)) + _GOLDEN)
    return np.asarray(bits)


def _stirred(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))


def _fraction(bits: NDArray[np.uint64]) -> FloatArray:
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def uniform(seed: int, *places: IntArray | int) -> FloatArray:
    """Numbers in [0, 1)."""
    return _fraction(mixed(seed, *places))


def below(limit: int | IntArray, seed: int, *places: IntArray | int) -> IntArray:
    """Whole numbers in 0..limit-1; limits broadcast with the places."""
    out: IntArray = np.minimum((uniform(seed, *places) * limit).astype(np.int64), np.asarray(limit) - 1)
    return out


def normal(seed: int, *places: IntArray | int) -> FloatArray:
    """Standard normal numbers, by Box and Muller."""
    bits = mixed(seed, *places)
    with np.errstate(over="ignore"):
        # Mix the bits further; drawing at another seed would repeat the numbers of that seed.
        turn = _fraction(_stirred(bits ^ _OTHER))
    out: FloatArray = np.sqrt(-2.0 * np.log1p(-_fraction(bits))) * np.cos(2.0 * np.pi * turn)
    return out
