"""The cluster of a recipe, which draws run times from the recipe's ingredients."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np

from tailcut.clusters.base import Cluster, Sample, Split
from tailcut.clusters.checks import at_least, require
from tailcut.clusters.groups import blocks
from tailcut.clusters.random.choose import recipe_of
from tailcut.clusters.random.recipe import Recipe
from tailcut.errors import ParameterError
from tailcut.types import NO_NODE, FloatArray, Forecast, IntArray, Seconds

Naming = Literal["auto", "named", "unnamed"]

_LEVELS, _ORDER = range(2)
"""Random streams of the cluster itself."""
_LAW, _CONTENT, _SPIKES, _SLEEPERS, _NODES, _SPELLS, _ABSENCES = range(7)
"""Random streams of a sample, one per ingredient, so that none depends on how many rounds another draws."""


def random_cluster(
    *, seed: int = 0, n: int | None = None, overhead: Seconds | None = None, nodes: Naming = "auto"
) -> RandomCluster:
    """Make the cluster number `seed`.

    Args:
        seed: number of the cluster; it decides everything that is not given.
        n: workers.
        overhead: seconds between a close and the next opening.
        nodes: whether the table names the nodes of a cluster that has any; "auto" leaves it to the seed.
    """
    recipe = recipe_of(seed, n)
    if overhead is not None:
        at_least("overhead", overhead, 0)
        recipe = replace(recipe, overhead=overhead)
    rule = 'nodes must be "auto", "named" or "unnamed"'
    require(nodes in ("auto", "named", "unnamed"), rule, nodes, "name one of them")
    if nodes != "auto" and recipe.nodes is not None:
        recipe = replace(recipe, nodes=replace(recipe.nodes, named=nodes == "named"))
    return RandomCluster(recipe)


@final
@dataclass(frozen=True, slots=True)
class RandomCluster(Cluster):
    """A cluster with the run times of a recipe. Their law is not known in closed form (`has_law` is false).

    The run time of a worker in a round is the noise (unit · level · content · law · spike + sleep) times the
    state of its machine (nodes · spells · swing · step), rounded up to the clock's tick. There is no hidden
    state (0 columns).

    Example:
        >>> from tailcut.clusters.random import random_cluster
        >>> random_cluster(seed=3, n=5).sample(4, np.random.default_rng(0)).table.seconds.shape
        (4, 5)
    """

    recipe: Recipe
    overhead: Seconds = math.nan
    """Seconds between a close and the next opening; NaN takes those of the recipe."""

    def __post_init__(self) -> None:
        if math.isnan(self.overhead):
            object.__setattr__(self, "overhead", self.recipe.overhead)
        at_least("overhead", self.overhead, 0)

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self.recipe.n

    @property
    def about(self) -> str:
        """The ingredients in one line."""
        return self.recipe.about

    @property
    def has_law(self) -> bool:
        """Return False: the law of a random cluster is not known."""
        return False

    def nodes(self) -> IntArray:
        """`(workers,)` the node of each worker where nodes are named, else `NO_NODE`."""
        nodes, n = self.recipe.nodes, self.recipe.n
        if nodes is None or not nodes.named:
            return np.full(n, NO_NODE, dtype=np.int64)
        return blocks(n, nodes.count)

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        """Draw `rounds` rounds; the state moves one step a round."""
        return Sample(
            self.split(rounds, rounds, rng).by_rounds(self.nodes(), "random"), np.empty((rounds, 0))
        )

    def split(self, rounds: int, slots: int, rng: np.random.Generator) -> Split:
        """Draw the noise of the rounds and the path of the state, each from random streams of its own."""
        key = int(rng.integers(2**62))
        streams = [np.random.default_rng([key, k]) for k in range(7)]
        return Split(self._noise(rounds, streams), self._path(slots, streams), self.recipe.tick)

    def law(self, hidden: FloatArray) -> Forecast:
        """Raise a `ParameterError`: the law is not known."""
        del hidden
        raise ParameterError(
            f"The law of a random cluster is not known, but was asked for of seed {self.recipe.key}; take a named "
            "cluster such as xeon158."
        )

    def _noise(self, rounds: int, streams: list[np.random.Generator]) -> FloatArray:
        recipe, n = self.recipe, self.recipe.n
        seconds = recipe.unit * recipe.law.sample(streams[_LAW], (rounds, n))
        if recipe.levels > 0:
            z = np.random.default_rng([recipe.key, 1000 + _LEVELS]).standard_normal(n)
            seconds *= np.exp(recipe.levels * z)
        if recipe.content is not None:
            seconds *= recipe.content.factors(rounds, streams[_CONTENT])
        if recipe.spikes is not None:
            seconds *= recipe.spikes.factors(rounds, n, streams[_SPIKES])
        if recipe.sleepers is not None:
            seconds += recipe.sleepers.delays(rounds, n, streams[_SLEEPERS])
        return seconds

    def _path(self, slots: int, streams: list[np.random.Generator]) -> FloatArray:
        recipe, n = self.recipe, self.recipe.n
        scale = np.ones((slots, n))
        if recipe.nodes is not None:
            scale *= recipe.nodes.path(slots, n, streams[_NODES])
        if recipe.spells is not None:
            scale *= recipe.spells.path(slots, n, streams[_SPELLS])
        if recipe.swing is not None:
            scale *= recipe.swing.path(slots)
        if recipe.step is not None:
            order = np.random.default_rng([recipe.key, 1000 + _ORDER]).random(n)
            scale *= recipe.step.path(slots, order)
        if recipe.absences is not None:
            scale *= recipe.absences.path(slots, n, streams[_ABSENCES])
        return scale
