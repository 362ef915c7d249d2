"""Scripted faults: one worker is slow, or fails, at a given round of any cluster or table."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final, overload

import numpy as np

from tailcut.clusters import curves
from tailcut.clusters.base import Cluster, Sample, Split
from tailcut.clusters.checks import at_least, positive, require, whole
from tailcut.table import Table
from tailcut.types import FloatArray, Forecast, IntArray, Seconds


@overload
def slow_at(source: Cluster, worker: int, round: int, factor: float, rounds: int = 1) -> SlowAt: ...
@overload
def slow_at(source: Table, worker: int, round: int, factor: float, rounds: int = 1) -> Table: ...
def slow_at(
    source: Cluster | Table, worker: int, round: int, factor: float, rounds: int = 1
) -> SlowAt | Table:
    """Make `worker` `factor` times slower in `rounds` rounds from `round` on.

    Example:
        >>> from tailcut.clusters import Deterministic, Iid
        >>> slow = slow_at(Iid(Deterministic(1.0), 3), worker=2, round=1, factor=4.0)
        >>> slow.sample(2, np.random.default_rng(0)).table.seconds.tolist()
        [[1.0, 1.0, 1.0], [1.0, 1.0, 4.0]]
    """
    if isinstance(source, Cluster):
        return SlowAt(source, worker, round, factor, rounds)
    _check_place(source.workers, worker, round)
    _check_slowing(factor, rounds)
    return _slowed(source, worker, round, factor, rounds)


@overload
def fail_at(source: Cluster, worker: int, round: int, back: int | None = None) -> FailAt: ...
@overload
def fail_at(source: Table, worker: int, round: int, back: int | None = None) -> Table: ...
def fail_at(source: Cluster | Table, worker: int, round: int, back: int | None = None) -> FailAt | Table:
    """Let `worker` fail half-way through `round` and be absent until round `back`, or for good.

    Example:
        >>> from tailcut.clusters import Deterministic, Iid
        >>> broken = fail_at(Iid(Deterministic(1.0), 2), worker=1, round=0, back=2)
        >>> broken.sample(3, np.random.default_rng(0)).table.seconds.tolist()
        [[1.0, 0.5], [1.0, nan], [1.0, 1.0]]
    """
    if isinstance(source, Cluster):
        return FailAt(source, worker, round, back)
    _check_place(source.workers, worker, round)
    _check_failing(source.workers, round, back)
    return _failed(source, worker, round, back)


@final
@dataclass(frozen=True, slots=True)
class SlowAt(Cluster):
    """A cluster with one slow worker (`slow_at`).

    Hidden state: the number of the coming round, then that of `inner`.

    Attributes:
        inner: the cluster without the fault.
        worker: the worker that is slow.
        round: the first round in which it is slow.
        factor: factor of its run times.
        rounds: number of rounds in which it is slow.
        overhead: seconds between a close and the next opening; NaN takes that of `inner`.
    """

    inner: Cluster
    worker: int
    round: int
    factor: float
    rounds: int = 1
    overhead: Seconds = math.nan

    def __post_init__(self) -> None:
        _check_place(self.inner.workers, self.worker, self.round)
        _check_slowing(self.factor, self.rounds)
        object.__setattr__(self, "overhead", _overhead(self.overhead, self.inner))

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self.inner.workers

    @property
    def has_law(self) -> bool:
        """Return whether the law of `inner` is known."""
        return self.inner.has_law

    def nodes(self) -> IntArray:
        """The nodes of the workers in `inner`, `(workers,)`."""
        return self.inner.nodes()

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds."""
        inner = self.inner.sample(rounds, rng)
        table = _slowed(inner.table, self.worker, self.round, self.factor, self.rounds)
        return Sample(table, _numbered(inner.hidden))

    def split(self, rounds: int, slots: int, rng: np.random.Generator) -> Split:
        """Draw from `inner`; the worker is slow in slots `round` to `round + rounds - 1`."""
        inner = self.inner.split(rounds, slots, rng)
        scale = inner.scale.copy()
        scale[self.round : self.round + self.rounds, self.worker] *= self.factor
        return replace(inner, scale=scale)

    def law(self, hidden: FloatArray) -> Forecast:
        """Return the law of `inner`; the slow worker's curve is stretched while it is slow."""
        usual = self.inner.law(hidden[1:])
        if not self.round <= hidden[0] < self.round + self.rounds:
            return usual
        times = np.union1d(usual.times, usual.times * self.factor)
        slowed = curves.interpolate(usual, times / self.factor)
        mine = (usual.workers == self.worker)[:, None]
        return replace(usual, times=times, survival=np.where(mine, slowed, curves.interpolate(usual, times)))


@final
@dataclass(frozen=True, slots=True)
class FailAt(Cluster):
    """A cluster with one failing worker (`fail_at`).

    Hidden state: the number of the coming round, then that of `inner`.

    Attributes:
        inner: the cluster without the fault.
        worker: the worker that fails.
        round: the round in which it fails; the failure is noticed at half of its run time.
        back: the first round it takes part in again, None for never.
        overhead: seconds between a close and the next opening; NaN takes that of `inner`.
    """

    inner: Cluster
    worker: int
    round: int
    back: int | None = None
    overhead: Seconds = math.nan

    def __post_init__(self) -> None:
        _check_place(self.inner.workers, self.worker, self.round)
        _check_failing(self.inner.workers, self.round, self.back)
        object.__setattr__(self, "overhead", _overhead(self.overhead, self.inner))

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self.inner.workers

    @property
    def has_law(self) -> bool:
        """Return whether the law of `inner` is known."""
        return self.inner.has_law

    def nodes(self) -> IntArray:
        """The nodes of the workers in `inner`, `(workers,)`."""
        return self.inner.nodes()

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds."""
        inner = self.inner.sample(rounds, rng)
        return Sample(_failed(inner.table, self.worker, self.round, self.back), _numbered(inner.hidden))

    def split(self, rounds: int, slots: int, rng: np.random.Generator) -> Split:
        """Draw from `inner`; the worker fails when slot `round` begins."""
        inner = self.inner.split(rounds, slots, rng)
        scale = inner.scale.copy()
        scale[self.round : self.back, self.worker] = np.nan
        return replace(inner, scale=scale)

    def law(self, hidden: FloatArray) -> Forecast:
        """Return the law of `inner`; the worker never arrives in the round it fails in, then is left out."""
        usual = self.inner.law(hidden[1:])
        coming = int(hidden[0])
        if coming == self.round:
            mine = (usual.workers == self.worker)[:, None]
            return replace(usual, survival=np.where(mine, 1.0, usual.survival))
        away = coming > self.round and (self.back is None or coming < self.back)
        return curves.without(usual, self.worker) if away else usual


def _slowed(table: Table, worker: int, round: int, factor: float, rounds: int) -> Table:
    seconds = table.seconds.copy()
    seconds[round : round + rounds, worker] *= factor
    return replace(table, seconds=seconds)


def _failed(table: Table, worker: int, round: int, back: int | None) -> Table:
    seconds, observed = table.seconds.copy(), table.observed.copy()
    seconds[round : round + 1, worker] /= 2
    seconds[round + 1 : back, worker] = np.nan
    observed[round:back, worker] = False
    return replace(table, seconds=seconds, observed=observed)


def _numbered(hidden: FloatArray) -> FloatArray:
    return np.concatenate([curves.rounds_column(len(hidden)), hidden], axis=1)


def _overhead(own: Seconds, inner: Cluster) -> Seconds:
    seconds = inner.overhead if math.isnan(own) else own
    at_least("overhead", seconds, 0)
    return seconds


def _check_place(workers: int, worker: int, round: int) -> None:
    whole("worker", worker, 0)
    require(worker < workers, f"worker must be one of 0..{workers - 1}", worker, "name one that exists")
    whole("round", round, 0)


def _check_slowing(factor: float, rounds: int) -> None:
    positive("factor", factor)
    whole("rounds", rounds, 1)


def _check_failing(workers: int, round: int, back: int | None) -> None:
    require(workers > 1, "A worker can fail only where others remain", workers, "use two workers or more")
    later = back is None or back > round
    require(later, f"back must come after round {round}", back, "give a later round or None")
