"""Makes the updates of a chaos run again, in one process, in double precision, with numpy alone.

The law of the gradients is written a second time here, on purpose: `job.py` has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
RATE, MOMENTUM = 0.01, 0.9
FIRST_BETA, SECOND_BETA, EPSILON = 0.9, 0.999, 1e-8
"""Options of torch's optimizers in `job.py`: its rate and momentum, and the defaults of Adam."""
TOLERANCE = 2e-4
"""Largest allowed deviation: that of single precision after some thousand updates."""


FEW = 1_000_000
"""Number of parameters among which one may be ten times as far apart by rounding, if Adam trains them."""


@final
@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of a run's training, as its workers noted them; `size` is the number of parameters."""

    seed: int
    size: int
    optimiser: str
    workers: int

    @classmethod
    def of(cls, told: dict[str, Any]) -> Setting:
        """Return the setting in a `started` line."""
        return cls(int(told["seed"]), int(told["size"]), str(told["optimiser"]), int(told["workers"]))


def replayed(setting: Setting, updates: Sequence[Sequence[int]]) -> Vector:
    """Return the parameters after updates with gradients of these workers, the first at version 0."""
    directions = _directions(setting)
    numbers: Vector = directions[0].copy()
    first, second = np.zeros_like(numbers), np.zeros_like(numbers)
    for version, accepted in enumerate(updates):
        gradient = _mean(setting, version, accepted) @ directions
        if setting.optimiser == "adam":
            first += (1 - FIRST_BETA) * (gradient - first)
            second += (1 - SECOND_BETA) * (gradient * gradient - second)
            made = version + 1
            root = np.sqrt(second / (1 - SECOND_BETA**made)) + EPSILON
            numbers -= RATE / (1 - FIRST_BETA**made) * first / root
        else:
            first = MOMENTUM * first + gradient
            numbers -= RATE * first
    return numbers


def deviation(setting: Setting, updates: Sequence[Sequence[int]], final: Path) -> float:
    """Return the largest difference from parameters in a file, relative to the largest parameter.

    Adam divides a gradient by its own size. Where those of all workers cancel, rounding decides which way it goes: of
    25 million numbers that are summed in order in one process, two are 4e-4 apart. So one in a million may be ten times
    as far apart as the others; a gradient that was lost or doubled shows in a whole piece of them.
    """
    wanted, found = replayed(setting, updates), np.fromfile(final, dtype=np.float32).astype(np.float64)
    if wanted.shape != found.shape:
        return float("inf")
    apart = np.abs(wanted - found) / np.abs(wanted).max()
    if not np.isfinite(apart).all():
        return float("inf")
    few = setting.size // FEW if setting.optimiser == "adam" else 0
    worst = np.sort(np.partition(apart, -1 - few)[-1 - few :])
    return float(max(worst[0], worst[-1] / 10 if few else 0.0))


def _directions(setting: Setting) -> Vector:
    source = np.random.default_rng([setting.seed])
    return source.standard_normal((4, setting.size), dtype=np.float32).astype(np.float64)


def _mean(setting: Setting, version: int, accepted: Sequence[int]) -> Vector:
    """Return the mean over all samples of these workers, as `(4,)` weights of the directions."""
    total, samples = np.zeros(4), 0
    for worker in accepted:
        own = 1 + (worker + version) % 3
        weights = np.random.default_rng([setting.seed, worker, version]).standard_normal(4)
        total += own * weights.astype(np.float32)
        samples += own
    return total / samples
