"""Laws that change with time, gradually or suddenly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from tailcut.clusters import curves
from tailcut.clusters.base import Cluster, Sample, Split
from tailcut.clusters.checks import at_least, positive, require, whole
from tailcut.clusters.lognormal import LogNormal
from tailcut.table import Table
from tailcut.types import FloatArray, Forecast, IntArray, Seconds


@final
@dataclass(frozen=True, slots=True)
class Drift(Cluster):
    """Independent log-normal run times whose common level moves from 1 to `factor`.

    Hidden state: the number of the coming round (1 column).

    Attributes:
        n: workers.
        factor: how many times slower the slowest level is than the first.
        period: rounds of a whole swing up and down for "sine"; rounds until the level stays for "linear".
        shape: "sine" swings smoothly between 1 and factor (in the logarithm), "linear" climbs once.
        sigma: standard deviation of the log run time.
        median: median run time in round 0, seconds.
        overhead: seconds between a close and the next opening.
    """

    n: int = 32
    factor: float = 2.0
    period: int = 500
    shape: Literal["sine", "linear"] = "sine"
    sigma: float = 0.2
    median: Seconds = 1.0
    overhead: Seconds = 0.0

    def __post_init__(self) -> None:
        whole("n", self.n, 1)
        positive("factor", self.factor)
        whole("period", self.period, 1)
        require(
            self.shape in ("sine", "linear"),
            'shape must be "sine" or "linear"',
            self.shape,
            "name one of them",
        )
        positive("sigma", self.sigma)
        positive("median", self.median)
        at_least("overhead", self.overhead, 0)

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self.n

    def level(self, rounds: FloatArray) -> FloatArray:
        """Return the level in each of these rounds: run times as a multiple of those in round 0."""
        share = rounds / self.period
        if self.shape == "linear":
            return 1 + (self.factor - 1) * np.minimum(share, 1.0)
        swing: FloatArray = self.factor ** ((1 - np.cos(2 * np.pi * share)) / 2)
        return swing

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds."""
        hidden = curves.rounds_column(rounds)
        seconds = self.level(hidden) * LogNormal(self.median, self.sigma).sample(rng, (rounds, self.n))
        return Sample(Table.dense(seconds, source="drift"), hidden)

    def split(self, rounds: int, slots: int, rng: np.random.Generator) -> Split:
        """Draw noise as `sample` does; the level changes with the slots."""
        noise = LogNormal(self.median, self.sigma).sample(rng, (rounds, self.n))
        return Split(noise, np.repeat(self.level(curves.rounds_column(slots)), self.n, axis=1))

    def law(self, hidden: FloatArray) -> Forecast:
        """Return independent laws, scaled to the round's level."""
        usual = curves.independent((LogNormal(self.median, self.sigma),) * self.n)
        times = usual.times * float(self.level(hidden[:1])[0])
        return Forecast(usual.workers, times, usual.survival, usual.weights, usual.groups)


@final
@dataclass(frozen=True, slots=True)
class Switch(Cluster):
    """A cluster that is `before` up to round `at` - 1; then `after`, which begins with its own round 0.

    Hidden state: the number of the coming round, then the hidden state of the current cluster, padded
    with NaN. Worker i stays worker i and is reported on the node it has in `before`.

    Attributes:
        before: the first cluster.
        after: the second, with as many workers.
        at: the first round of the second.
        overhead: seconds between a close and the next opening; NaN takes that of `before`.
    """

    before: Cluster
    after: Cluster
    at: int
    overhead: Seconds = math.nan

    def __post_init__(self) -> None:
        sizes = (self.before.workers, self.after.workers)
        require(
            sizes[0] == sizes[1], "before and after need equally many workers", sizes, "give both the same n"
        )
        whole("at", self.at, 1)
        if math.isnan(self.overhead):
            object.__setattr__(self, "overhead", self.before.overhead)
        at_least("overhead", self.overhead, 0)

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self.before.workers

    @property
    def has_law(self) -> bool:
        """Return whether the laws of both clusters are known."""
        return self.before.has_law and self.after.has_law

    def nodes(self) -> IntArray:
        """The nodes of the workers in `before`, `(workers,)`."""
        return self.before.nodes()

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds."""
        first = self.before.sample(min(rounds, self.at), rng)
        second = self.after.sample(max(rounds - self.at, 0), rng)
        table = Table(
            np.concatenate([first.table.seconds, second.table.seconds]),
            np.concatenate([first.table.observed, second.table.observed]),
            first.table.names,
            self.nodes(),
            source=f"{first.table.source}, then {second.table.source}",
        )
        width = max(first.hidden.shape[1], second.hidden.shape[1])
        inner = np.concatenate([_widened(first.hidden, width), _widened(second.hidden, width)])
        return Sample(table, np.concatenate([curves.rounds_column(rounds), inner], axis=1))

    def split(self, rounds: int, slots: int, rng: np.random.Generator) -> Split:
        """Draw both; work begun in slot `at` or later follows the second cluster, whose path begins there."""
        first = self.before.split(rounds, max(slots, rounds), rng)
        second = self.after.split(rounds, max(slots - self.at, rounds), rng)
        require(
            first.tick == second.tick,
            "before and after need the same tick",
            (first.tick, second.tick),
            "give both one",
        )
        switches = [one for one in first.switches if one[0] < self.at]
        switches += [(self.at, second.noise), *((self.at + slot, noise) for slot, noise in second.switches)]
        scale = np.concatenate([first.scale[: self.at], second.scale])[:slots]
        return Split(first.noise, scale, first.tick, tuple(switches))

    def law(self, hidden: FloatArray) -> Forecast:
        """The law of the current cluster."""
        inner = hidden[1:][~np.isnan(hidden[1:])]
        return (self.before if hidden[0] < self.at else self.after).law(inner)


def _widened(hidden: FloatArray, width: int) -> FloatArray:
    return np.pad(hidden, ((0, 0), (0, width - hidden.shape[1])), constant_values=np.nan)
