"""Nodes that slow down and recover at random, and the workers on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.clusters import curves
from tailcut.clusters.base import Cluster, Sample, Split
from tailcut.clusters.chains import longer, stationary_start, two_state
from tailcut.clusters.checks import at_least, chance, positive, probability, require, whole
from tailcut.clusters.groups import blocks
from tailcut.clusters.spikes import SpikedCurve, spiked_curve
from tailcut.table import Table
from tailcut.types import BoolArray, FloatArray, Forecast, IntArray, Seconds


@final
@dataclass(frozen=True, slots=True)
class MarkovNodes(Cluster):
    """Workers on nodes; a slow node makes all of its workers slow.

    The run time of worker i on node k is median · factor^(k is slow) · exp(a_i + noise·Z), where a_i follows
    an autoregression of order 1 with stationary standard deviation `sd`; with probability `p_spike` it is
    multiplied by a spike, 1 + Pareto(alpha) in numpy's sense: the spike exceeds f with probability f^-alpha,
    f >= 1.

    Hidden state: `(node_count + n,)` 1 for each slow node, then each worker's a_i; without autoregression
    (`sd` = 0) only the nodes. It starts from its stationary law.

    Attributes:
        n: workers, in contiguous blocks of even size on the nodes.
        node_count: number of nodes.
        p_slow: probability per round that a node becomes slow.
        p_recover: probability per round that a slow node recovers.
        factor: factor of the run times on a slow node.
        median: seconds of a worker on a node that is not slow.
        rho: autocorrelation of a_i from one round to the next.
        sd: stationary standard deviation of a_i (log scale).
        noise: standard deviation of the independent noise of each round (log scale).
        p_spike: probability of a spike, for each worker and round.
        alpha: index of the spikes' tail.
        overhead: seconds between a close and the next opening.
    """

    n: int = 158
    node_count: int = 4
    p_slow: float = 0.02
    p_recover: float = 0.06
    factor: float = 2.2
    median: Seconds = 1.0
    rho: float = 0.0
    sd: float = 0.0
    noise: float = 0.05
    p_spike: float = 0.0
    alpha: float = 1.5
    overhead: Seconds = 0.0

    def __post_init__(self) -> None:
        whole("n", self.n, 1)
        whole("node_count", self.node_count, 1)
        fits = self.node_count <= self.n
        require(fits, f"node_count must be at most n = {self.n}", self.node_count, "lower it or raise n")
        probability("p_slow", self.p_slow)
        chance("p_recover", self.p_recover)
        at_least("factor", self.factor, 1)
        positive("median", self.median)
        require(0 <= self.rho < 1, "rho must be >= 0 and < 1", self.rho, "give a value such as 0.9")
        at_least("sd", self.sd, 0)
        at_least("noise", self.noise, 0)
        spreads = (self.sd, self.noise)
        require(max(spreads) > 0, "sd or noise must be > 0", spreads, "give noise a value such as 0.05")
        probability("p_spike", self.p_spike)
        positive("alpha", self.alpha)
        at_least("overhead", self.overhead, 0)

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self.n

    def nodes(self) -> IntArray:
        """`(workers,)` the node of each worker."""
        return blocks(self.n, self.node_count)

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds."""
        slow, log_noise, levels, spikes = self._drawn(rounds, rng)
        seconds = np.where(slow[1:], self.median * self.factor, self.median)[:, self.nodes()]
        hidden = slow[:-1].astype(np.float64)
        if levels is not None:
            log_noise += levels[1:]
            hidden = np.concatenate([hidden, levels[:-1]], axis=1)
        seconds *= np.exp(log_noise)
        if spikes is not None:
            seconds *= spikes
        return Sample(Table.dense(seconds, self.nodes(), source="Markov nodes"), hidden)

    def split(self, rounds: int, slots: int, rng: np.random.Generator) -> Split:
        """Draw as `sample` does; nodes and levels are then continued to `slots` steps."""
        slow, log_noise, levels, spikes = self._drawn(rounds, rng)
        noise = self.median * np.exp(log_noise)
        if spikes is not None:
            noise *= spikes
        slow = longer(slow, slots, self.p_slow, self.p_recover, rng)
        scale = np.where(slow[1:], self.factor, 1.0)[:, self.nodes()]
        if levels is not None:
            scale *= np.exp(self._longer_levels(levels, slots, rng)[1:])
        return Split(noise, scale)

    def law(self, hidden: FloatArray) -> Forecast:
        """Each node is a group with the scenarios fast and slow; workers are independent given those."""
        curve = self._curve
        centres = np.full(self.n, math.log(self.median))
        if self.sd > 0:
            centres += self.rho * hidden[self.node_count :]
        # Nodes that never become slower need no scenarios.
        matters = self.p_slow > 0 and self.factor > 1
        shifts = np.array([0.0, math.log(self.factor)] if matters else [0.0])
        times = self._times(curve, centres, shifts)
        z = np.log(times) - centres[:, None]
        survival = curve.at(z[None] - shifts[:, None, None])
        if not matters:
            return Forecast.independent(curves.everyone(self.n), times, survival[0])
        p_next = np.where(hidden[: self.node_count] > 0.5, 1 - self.p_recover, self.p_slow)
        weights = np.stack([1 - p_next, p_next], axis=1)
        return Forecast(curves.everyone(self.n), times, survival, weights, self.nodes())

    @property
    def _innovation(self) -> float:
        return self.sd * math.sqrt(1 - self.rho**2)

    @property
    def _curve(self) -> SpikedCurve:
        return spiked_curve(math.hypot(self._innovation, self.noise), self.p_spike, self.alpha)

    def _drawn(
        self, rounds: int, rng: np.random.Generator
    ) -> tuple[BoolArray, FloatArray, FloatArray | None, FloatArray | None]:
        """Draw slow nodes, log noise, levels and spikes; row 0 of nodes and levels precedes round 0."""
        start = stationary_start(self.node_count, self.p_slow, self.p_recover, rng)
        slow = two_state(start, rounds, self.p_slow, self.p_recover, rng)
        log_noise = self.noise * rng.standard_normal((rounds, self.n))
        levels = self._levels(rounds, rng) if self.sd > 0 else None
        spikes = None
        if self.p_spike > 0:
            spiked = rng.random((rounds, self.n)) < self.p_spike
            spikes = np.ones((rounds, self.n))
            spikes[spiked] += rng.pareto(self.alpha, int(spiked.sum()))
        return slow, log_noise, levels, spikes

    def _levels(self, rounds: int, rng: np.random.Generator) -> FloatArray:
        """`(rounds + 1, n)` the autoregression; row t precedes round t."""
        levels = rng.standard_normal((rounds + 1, self.n))
        levels[0] *= self.sd
        levels[1:] *= self._innovation
        for t in range(rounds):
            levels[t + 1] += self.rho * levels[t]
        return levels

    def _longer_levels(self, levels: FloatArray, slots: int, rng: np.random.Generator) -> FloatArray:
        """Return `(slots + 1, n)` levels: the given ones, continued where they are too few."""
        shocks = self._innovation * rng.standard_normal((max(slots + 1 - len(levels), 0), self.n))
        level = levels[-1]
        for shock in shocks:
            shock += self.rho * level
            level = shock
        return np.concatenate([levels, shocks])[: slots + 1]

    def _times(self, curve: SpikedCurve, centres: FloatArray, shifts: FloatArray) -> FloatArray:
        where = np.add.outer(
            shifts, np.add.outer(curves.spread(centres), curves.spread(curve.landmarks(), 64))
        )
        return curves.grid(np.exp(where.ravel()))
