"""Policies and bounds against the run times of one cluster, shared by several experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailcut.study.parallel import Job
from tailcut.study.reproduce.bdsgd import CLOSED, PUBLISHED
from tailcut.study.reproduce.experiment import Bench, Kept, missing
from tailcut.study.reproduce.findings import Line
from tailcut.study.reproduce.timings import CLAIRVOYANT, STATIC, model_jobs, published, timed
from tailcut.types import FloatArray

POLICIES = ("wait-all", "backup", "elfving", "empirical", PUBLISHED, CLOSED, "stopping", "bayes")
BOUNDS = (STATIC, CLAIRVOYANT)


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of all policies and bounds on the same samples of one cluster.

    Attributes:
        bench: functions that turn names into objects.
        cluster: name as in `tailcut`.
        rounds: number of rounds in every sample.
        warm_up: number of first rounds that rates leave out; in them policies collect their windows.
        seeds: number of samples.
        window: rounds over which curves are averaged.
    """

    bench: Bench
    cluster: str
    rounds: int
    warm_up: int
    seeds: int
    window: int = 10

    def jobs(self, names: Sequence[str], kept: Kept) -> list[Job[str, Any]]:
        """Return the training of the published model if it is missing; then the runs on every sample."""
        training = model_jobs(self.bench, (self.cluster,))
        if training:
            return training
        # Long jobs come first, so that no core is idle at the end.
        return missing(
            [
                Job(
                    self._key(name, seed),
                    timed,
                    (self.bench.makers, self.cluster, self._spec(name), seed, self.rounds, self.warm_up),
                )
                for name in reversed(names)
                for seed in range(self.seeds)
            ],
            kept,
        )

    def of(self, name: str, kept: Kept) -> list[dict[str, Any]]:
        """Return the runs of one policy or bound, seed by seed."""
        return [kept[self._key(name, seed)] for seed in range(self.seeds)]

    def workers(self, kept: Kept) -> int:
        """Return the number of workers in the cluster."""
        return int(self.of(CLAIRVOYANT, kept)[0]["workers"])

    def rates(self, name: str, kept: Kept) -> list[float]:
        """Return the gradients per second, seed by seed."""
        return [run["rate"] for run in self.of(name, kept)]

    def shares(self, name: str, kept: Kept, of: str = CLAIRVOYANT) -> list[float]:
        """Return the gradients per second over those of a bound, seed by seed."""
        pairs = zip(self.rates(name, kept), self.rates(of, kept), strict=True)
        return [mine / bound for mine, bound in pairs]

    def counts(self, name: str, kept: Kept) -> list[FloatArray]:
        """`(rounds after the warm-up,)` gradients used, seed by seed."""
        return [np.array(run["counts"][self.warm_up :], dtype=float) for run in self.of(name, kept)]

    def cutoff_line(self, name: str, kept: Kept) -> Line:
        """Gradients used over the rounds of the first sample."""
        counts = np.array(self.of(name, kept)[0]["counts"], dtype=float)
        return self._line(name, averaged(counts, self.window))

    def rate_line(self, name: str, kept: Kept) -> Line:
        """Gradients per second over the rounds of the first sample."""
        run = self.of(name, kept)[0]
        counts, elapsed = np.array(run["counts"], dtype=float), np.array(run["elapsed"])
        return self._line(name, averaged(counts, self.window) / averaged(elapsed, self.window))

    def _line(self, name: str, values: FloatArray) -> Line:
        rounds = tuple(float(self.window * (k + 1)) for k in range(len(values)))
        return Line(name, rounds, tuple(values.tolist()), look="bound" if name in BOUNDS else "line")

    def _spec(self, name: str) -> str:
        if name in (PUBLISHED, CLOSED):
            return published(self.bench, self.cluster, closed=name == CLOSED)
        return name

    def _key(self, name: str, seed: int) -> str:
        return f"timed/{self.cluster}/{name}/{self.rounds}/{seed}"


def averaged(values: FloatArray, window: int) -> FloatArray:
    """Return means over consecutive windows; an incomplete window at the end is left out.

    Example:
        >>> averaged(np.array([1.0, 3.0, 5.0, 7.0, 9.0]), 2)
        array([2., 6.])
    """
    whole = len(values) // window
    out: FloatArray = values[: whole * window].reshape(whole, window).mean(axis=1)
    return out
