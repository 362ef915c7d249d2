"""Run times on a logarithmic grid of cells, in a unit that is a power of two."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tailcut.types import FloatArray, IntArray, Seconds

PER_OCTAVE = 32
"""Cells per factor of two: each is 2.2 % wide."""
BELOW, ABOVE = 4, 8
"""Octaves covered below and above the unit; what lies outside counts in the nearest cell."""
COUNT = (BELOW + ABOVE) * PER_OCTAVE


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells 0..COUNT-1; cell k holds unit·2^(k/PER_OCTAVE − BELOW) up to the next such value.

    The unit is a power of two, so that dividing by it is exact: scaling all run times by a power of two changes
    the unit and nothing else.
    """

    unit: Seconds

    @staticmethod
    def around(seconds: Seconds) -> Cells:
        """Return cells whose unit is the power of two at or below `seconds`."""
        return Cells(math.ldexp(1.0, math.frexp(seconds)[1] - 1))

    def position(self, seconds: FloatArray) -> FloatArray:
        """Return the positions of run times in cells and fractions of cells, within the range covered."""
        # Just under COUNT, so that the cell of the last position is COUNT - 1.
        inside: FloatArray = np.clip(self.anywhere(seconds), 0.0, COUNT - 2.0**-20)
        return inside

    def anywhere(self, seconds: FloatArray) -> FloatArray:
        """Return the positions of run times in cells, also outside the range covered."""
        raw: FloatArray = (np.log2(seconds / self.unit) + BELOW) * PER_OCTAVE
        return raw

    def ends(self, cells: IntArray) -> FloatArray:
        """Return the upper ends of cells in seconds."""
        out: FloatArray = self.unit * np.exp2((cells + 1) / PER_OCTAVE - BELOW)
        return out

    def octaves_off(self, seconds: Seconds) -> int:
        """Return the octaves by which the unit should move to hold `seconds` well inside; 0 if it does."""
        octaves = math.frexp(seconds / self.unit)[1] - 1
        return octaves if octaves < -BELOW // 2 or octaves > ABOVE // 2 else 0

    def moved(self, octaves: int) -> Cells:
        """Return the same cells in a unit 2^octaves times as large."""
        return Cells(math.ldexp(self.unit, octaves))


def shift_columns(array: FloatArray, cells: int) -> FloatArray:
    """Move what stands in column k to column k − cells; what leaves the range piles up at its end."""
    out = np.zeros_like(array)
    size = array.shape[-1]
    cells = max(-size, min(size, cells))
    if cells >= 0:
        out[..., : size - cells] = array[..., cells:]
        out[..., 0] += array[..., : min(cells, size)].sum(axis=-1)
    else:
        out[..., -cells:] = array[..., : size + cells]
        out[..., -1] += array[..., size + cells :].sum(axis=-1)
    return out


def blurred(mass: FloatArray) -> FloatArray:
    """Spread each cell's mass over its neighbors by the weights ¼, ½, ¼."""
    out = 0.5 * mass
    out[..., 1:] += 0.25 * mass[..., :-1]
    out[..., :-1] += 0.25 * mass[..., 1:]
    out[..., 0] += 0.25 * mass[..., 0]
    out[..., -1] += 0.25 * mass[..., -1]
    return out
