"""The factor of an update's learning rate, given the number of samples in the update."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

from tailcut.engines.live.messages import Arrived, Scatter
from tailcut.learning.rates import Behind, RateRule
from tailcut.noise import Noise, after
from tailcut.types import Measured, WorkerId


@final
class Scale:
    """A learning-rate rule with the samples and the noise it needs.

    Samples of a full update are those of all workers the run began with, each with the mini-batch it had
    last. A worker that has never arrived counts as the mean of the others.

    Args:
        rule: computes a rate from the accepted samples.
        workers: number of workers that the run began with.
    """

    def __init__(self, rule: RateRule, workers: int) -> None:
        self._rule = rule
        self._workers = workers
        self._samples: dict[WorkerId, int] = {}
        self._batch: dict[WorkerId, float] = {}
        self._noise, self._last = Noise(), 1.0

    def arrived(self, message: Arrived) -> None:
        """Record the samples of a gradient that has arrived."""
        self._samples[message.worker] = message.samples
        if message.share > 0.0:
            self._batch[message.worker] = message.samples / message.share

    def of(self, version: int, accepted: Sequence[WorkerId]) -> float:
        """Return the factor for the update that follows `version`, made of these workers' last gradients."""
        samples = sum(self._samples[worker] for worker in accepted)
        behind = Behind(version, samples, self._full(samples), self._noise.scale)
        self._last = self._rule.rate(1.0, behind)
        return self._last

    def measured(self, scatter: Scatter | None) -> Measured | None:
        """Return the statistics of the last update's gradients; their loss and own rate are unknown."""
        if scatter is None:
            return None
        sizes = self._batch.values()
        batch = round(sum(sizes) / len(sizes)) if sizes else scatter.samples
        numbers = (scatter.big, scatter.small, scatter.small_samples)
        measured = Measured(math.nan, scatter.samples, max(batch, 1), *numbers, self._last)
        self._noise = after(self._noise, measured)
        return measured

    def _full(self, samples: int) -> int:
        if not self._batch:
            return max(samples, 1)
        mean = sum(self._batch.values()) / len(self._batch)
        unknown = self._workers - len(self._batch)
        return max(round(sum(self._batch.values()) + unknown * mean), samples, 1)
