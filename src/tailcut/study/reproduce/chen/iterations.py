"""The number of updates that synchronous SGD needs, by samples in an update: measured, and fitted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailcut.engines.simulated import updates
from tailcut.engines.simulated.meter import Meter
from tailcut.engines.simulated.training import Look, train
from tailcut.errors import InputError
from tailcut.forecast.bdsgd.state_space import one_thread
from tailcut.learning.recipe import Recipe, rule_of
from tailcut.learning.trainer import Trainer
from tailcut.policies import wait_all
from tailcut.study.grid.makers import Makers
from tailcut.study.grid.tuning import FIRST_SEED
from tailcut.study.parallel import Job
from tailcut.study.reproduce.experiment import Bench, Kept, missing
from tailcut.study.reproduce.judge import mean
from tailcut.study.reproduce.trainings import told, unless_none
from tailcut.table import Table


@dataclass(frozen=True, slots=True)
class Iterations:
    """Updates to the target by the samples in an update, independent of workers and cluster.

    Attributes:
        bench: functions that turn names into objects, and the task.
        counts: numbers of samples in an update, increasing.
        rates: learning rates of an update to tune over, for every count.
        most: updates after which a run has failed.
        seeds, tune_seeds: number of runs of each count, and of each rate in the tuning.
        key: first part of the jobs' keys.
    """

    bench: Bench
    counts: tuple[int, ...] = (12, 25, 50, 100, 200, 400)
    rates: tuple[float, ...] = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0)
    most: int = 600
    seeds: int = 8
    tune_seeds: int = 5
    key: str = "iterations"

    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        """Return runs of every rate on the tuning seeds, then of the best rate on the other seeds."""
        tuning = [
            self._job(count, rate, seed)
            for count in self.counts
            for rate in self.rates
            for seed in range(FIRST_SEED, FIRST_SEED + self.tune_seeds)
        ]
        left = missing(tuning, kept)
        if left:
            return left
        runs = [
            self._job(count, self.tuned(count, kept), seed)
            for count in self.counts
            for seed in range(self.seeds)
        ]
        return missing(runs, kept)

    def tuned(self, count: int, kept: Kept) -> float:
        """Return the rate that needs the fewest updates, on seeds that no figure uses."""
        nearest = min(self.counts, key=lambda other: abs(math.log(other / count)))
        seeds = range(FIRST_SEED, FIRST_SEED + self.tune_seeds)
        return min(
            self.rates,
            key=lambda rate: mean([self._updates(nearest, rate, seed, kept) for seed in seeds]),
        )

    def measured(self, kept: Kept) -> dict[int, list[float]]:
        """Return updates to the target by count, seed by seed; infinite where it was not reached."""
        return {
            count: [
                unless_none(kept[self._key(count, rate, seed)]["updates_to_target"], math.inf)
                for seed in range(self.seeds)
            ]
            for count in self.counts
            for rate in [self.tuned(count, kept)]
        }

    def _updates(self, count: int, rate: float, seed: int, kept: Kept) -> float:
        # A run that misses the target must be worse than one that reaches it with its last update.
        return unless_none(kept[self._key(count, rate, seed)]["updates_to_target"], 2.0 * self.most)

    def _key(self, count: int, rate: float, seed: int) -> str:
        return f"{self.key}/{count}/{rate:g}/{seed}"

    def _job(self, count: int, rate: float, seed: int) -> Job[str, Any]:
        arguments = (self.bench.makers, self.bench.task, count, rate, self.most, seed)
        return Job(self._key(count, rate, seed), one_run, arguments)


@dataclass(frozen=True, slots=True)
class Fit:
    """The fit I(S) = least + extra / S: updates that more samples cannot save, and updates due to noise.

    The form of McCandlish et al. (arXiv 1812.06162): steps · (1 + noise scale / batch).
    """

    least: float
    extra: float

    def __call__(self, count: float) -> float:
        """Return the updates with `count` samples in each."""
        return self.least + self.extra / count

    @property
    def noise(self) -> float:
        """Samples in an update beyond which more of them save less than half: the noise scale."""
        return self.extra / max(self.least, 1e-9)

    @property
    def unsaturated(self) -> Fit:
        """The fit without `least`: updates are in proportion to 1/S, however large S is."""
        return Fit(0.0, self.extra)


def fitted(measured: Mapping[int, list[float]]) -> Fit:
    """Return the best fit to the means, every count with the same relative weight; no part is below 0."""
    means = {count: mean(values) for count, values in measured.items() if math.isfinite(mean(values))}
    if len(means) < 2:
        raise InputError(
            f"Only {len(means)} of {len(measured)} sizes of an update reached the target, too few to tell how updates "
            "depend on it. Give another task."
        )
    counts, updates_to = np.array(list(means), dtype=float), np.array(list(means.values()))
    design = np.stack([1.0 / updates_to, 1.0 / (counts * updates_to)], axis=1)
    least, extra = np.linalg.lstsq(design, np.ones(len(counts)), rcond=None)[0]
    if least < 0:
        column = design[:, 1]
        least, extra = 0.0, float(column.sum() / (column**2).sum())
    return Fit(float(least), max(float(extra), 0.0))


def one_run(makers: Makers, name: str, count: int, rate: float, most: int, seed: int) -> dict[str, Any]:
    """Train by plain SGD with `count` samples in an update, all of them at one worker."""
    task = makers.task(name)
    look = Look(task.target, 1.0, updates=most)
    table = Table.dense(np.ones((most, 1)))
    with one_thread():
        trainer = Trainer(task, Recipe(rate, rule_of("fixed"), "rmsprop"), 1, count, seed)
        trained = train(updates(table, wait_all()), trainer, Meter(1, 0.0, False), look)
    return {"updates_to_target": told(trained, look, task.target.figure)["updates_to_target"]}
