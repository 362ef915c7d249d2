"""Ingredients that last: the state of a machine, as a factor of run times along a path of states.

One step of a path is a round, or a slot of time where states move by the clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from tailcut.clusters.chains import stationary_start, two_state
from tailcut.clusters.groups import blocks
from tailcut.types import FloatArray


@final
@dataclass(frozen=True, slots=True)
class SlowNodes:
    """Nodes that slow down and recover at random; a slow node makes all of its workers slow.

    Attributes:
        count: number of nodes; workers fill them in contiguous blocks of even size.
        p_slow: probability per step that a node becomes slow.
        p_recover: probability per step that a slow node recovers.
        factor: factor of the run times on a slow node.
        named: whether the table says which worker is on which node.
    """

    count: int
    p_slow: float
    p_recover: float
    factor: float
    named: bool

    @property
    def about(self) -> str:
        """The ingredient in a few words."""
        return f"{self.count} {'named' if self.named else 'unnamed'} nodes that slow down × {self.factor:.2g}"

    def path(self, steps: int, n: int, rng: np.random.Generator) -> FloatArray:
        """`(steps, n)` the factor of each worker."""
        start = stationary_start(self.count, self.p_slow, self.p_recover, rng)
        slow = two_state(start, steps, self.p_slow, self.p_recover, rng)[1:]
        return np.where(slow, self.factor, 1.0)[:, blocks(n, self.count)]


@final
@dataclass(frozen=True, slots=True)
class Spells:
    """Workers that independently go through spells in which they are `factor` times slower.

    Attributes:
        share: share of the workers that is slow in the long run.
        dwell: mean length of a spell, steps.
        factor: factor of the run times in a spell.
    """

    share: float
    dwell: float
    factor: float

    @property
    def about(self) -> str:
        """The ingredient in a few words."""
        return f"{self.share:.0%} in spells × {self.factor:.2g} of {self.dwell:.0f} rounds"

    def path(self, steps: int, n: int, rng: np.random.Generator) -> FloatArray:
        """`(steps, n)` the factor of each worker."""
        p_on, p_off = self.share / (self.dwell * (1 - self.share)), 1 / self.dwell
        slow = two_state(stationary_start(n, p_on, p_off, rng), steps, p_on, p_off, rng)[1:]
        return np.where(slow, self.factor, 1.0)


@final
@dataclass(frozen=True, slots=True)
class Swing:
    """A common level that moves from 1 to `factor`.

    Attributes:
        factor: how many times slower the slowest level is.
        period: steps of a whole swing for "sine", until the level stays for "linear".
        shape: "sine" swings up and down, "linear" climbs once.
    """

    factor: float
    period: int
    shape: Literal["sine", "linear"]

    @property
    def about(self) -> str:
        """The ingredient in a few words."""
        return f"{self.shape} drift × {self.factor:.2g} in {self.period} rounds"

    def path(self, steps: int) -> FloatArray:
        """`(steps, 1)` the factor of all workers."""
        share = np.arange(steps)[:, None] / self.period
        if self.shape == "linear":
            return 1 + (self.factor - 1) * np.minimum(share, 1.0)
        level: FloatArray = self.factor ** ((1 - np.cos(2 * np.pi * share)) / 2)
        return level


@final
@dataclass(frozen=True, slots=True)
class Step:
    """A lasting change: from step `at` on, the run times of some workers are multiplied by `factor`.

    Attributes:
        at: the first step that is different.
        share: share of the workers that change; at least one worker does.
        factor: factor of their run times.
    """

    at: int
    share: float
    factor: float

    @property
    def about(self) -> str:
        """The ingredient in a few words."""
        return f"a step × {self.factor:.2g} for {self.share:.0%} from round {self.at} on"

    def path(self, steps: int, order: FloatArray) -> FloatArray:
        """`(steps, n)` the factor of each worker; `order` is `(n,)` random numbers, the lowest are changed."""
        changed = order.argsort().argsort() < max(1, round(self.share * len(order)))
        later = np.arange(steps)[:, None] >= self.at
        return np.where(later & changed, self.factor, 1.0)


@final
@dataclass(frozen=True, slots=True)
class Absences:
    """Workers that leave and return; at least `safe` of them never leave.

    Attributes:
        p_leave: probability per step that a present worker leaves.
        p_return: probability per step that an absent worker returns.
        safe: number of workers that never leave, at least 2.
    """

    p_leave: float
    p_return: float
    safe: int

    @property
    def about(self) -> str:
        """The ingredient in a few words."""
        return f"workers leave ({100 * self.p_leave:.2g} % a round) and return"

    def path(self, steps: int, n: int, rng: np.random.Generator) -> FloatArray:
        """`(steps, n)` 1 where the worker is present, NaN where it is absent. All begin present."""
        mortal = np.ones(n - self.safe, dtype=np.bool_)
        present = two_state(mortal, steps, self.p_return, self.p_leave, rng)[:-1]
        path = np.ones((steps, n))
        path[:, self.safe :][~present] = np.nan
        return path
