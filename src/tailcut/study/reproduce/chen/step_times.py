"""The effect of backups added to N workers on the length of a step, and on the speed per machine."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

from tailcut.study.parallel import Job
from tailcut.study.reproduce.experiment import Bench, Experiment, Kept, missing
from tailcut.study.reproduce.findings import Claim, Finding, Line, Plot, Sheet
from tailcut.study.reproduce.timings import order_means

WHOSE = "TensorFlow 2016"
SLACK = 0.005
"""Tolerance for sampling noise in the savings per backup, as a share of the step without backups."""


@final
@dataclass(frozen=True, slots=True)
class StepTimes(Experiment):
    """N gradients of N + b workers, N fixed: with b steps become shorter, and machines more.

    Attributes:
        bench: functions that turn names into objects.
        clusters: names, without the number of workers.
        workers: N.
        backups: values of b, the first one 0.
        rounds: rounds of run times.
        key: name of the experiment.
    """

    bench: Bench
    clusters: tuple[str, ...] = ("iid-pareto", "iid-lognormal", "xeon158")
    workers: int = 50
    backups: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
    rounds: int = 8000
    key: str = "step-times"

    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        """Return the order statistics of run times for every number of backups."""
        return missing(
            [
                Job(
                    self._key(cluster, b),
                    order_means,
                    (self.bench.makers, f"{cluster}:n={self.workers + b}", self.rounds),
                )
                for cluster in self.clusters
                for b in self.backups
            ],
            kept,
        )

    def finding(self, kept: Kept) -> Finding:
        """Find the median step, and the speed per machine."""
        steps = {cluster: self._steps(cluster, kept) for cluster in self.clusters}
        gains = {cluster: self._gains(steps[cluster]) for cluster in self.clusters}
        backups = tuple(float(b) for b in self.backups)
        return Finding(
            key=self.key,
            title="What backups do to a step, and to the bill",
            setting=(
                f"{self.workers} gradients of {self.workers} + b workers, median of {self.rounds} rounds. The gain "
                "after paying is t(0)/t(b) · N/(N + b). TensorFlow's authors (OSDI 2016) report the same table of a "
                "real cluster of 50 workers; only its shape is compared."
            ),
            claims=tuple(
                claim
                for cluster in self.clusters
                for claim in self._claims(cluster, steps[cluster], gains[cluster])
            ),
            sheets=(self._sheet(steps, gains),),
            plots=(
                Plot(
                    "Median step by the number of backups",
                    "As a share of the step without backups.",
                    "backups b",
                    "median step, share",
                    tuple(Line(c, backups, tuple(s / steps[c][0] for s in steps[c])) for c in self.clusters),
                ),
                Plot(
                    "Gain after paying for the machines",
                    "Above 0 backups are worth their price.",
                    "backups b",
                    "gain per machine, %",
                    tuple(Line(c, backups, tuple(100.0 * gain for gain in gains[c])) for c in self.clusters),
                ),
            ),
        )

    def _steps(self, cluster: str, kept: Kept) -> list[float]:
        return [kept[self._key(cluster, b)]["median"][self.workers - 1] for b in self.backups]

    def _gains(self, steps: list[float]) -> list[float]:
        n = self.workers
        return [steps[0] / step * n / (n + b) - 1.0 for b, step in zip(self.backups, steps, strict=True)]

    def _claims(self, cluster: str, steps: list[float], gains: list[float]) -> tuple[Claim, Claim]:
        saved = [
            (steps[k] - steps[k + 1]) / (steps[0] * (self.backups[k + 1] - self.backups[k]))
            for k in range(len(steps) - 1)
        ]
        best = max(range(len(gains)), key=lambda k: gains[k])
        return (
            Claim(
                f"Every further backup shortens the step, and by less ({cluster}).",
                all(later <= before + SLACK for before, later in pairwise(saved))
                and all(one > -SLACK for one in saved)
                and saved[0] > SLACK,
                "saved per backup, in % of the step without: "
                + ", ".join(f"{100 * one:.1f}" for one in saved)
                + f" (b up to {', '.join(map(str, self.backups[1:]))})",
                WHOSE,
            ),
            Claim(
                f"Backups pay for themselves up to a best number, not beyond ({cluster}).",
                gains[best] > 0.0 and 0 < best < len(gains) - 1,
                f"best gain {100 * gains[best]:.1f} % at b = {self.backups[best]}; "
                f"{100 * gains[-1]:+.1f} % at b = {self.backups[-1]}",
                WHOSE,
            ),
        )

    def _sheet(self, steps: dict[str, list[float]], gains: dict[str, list[float]]) -> Sheet:
        rows = tuple(
            (
                str(b),
                *(f"{steps[c][k]:.2f} s, {100 * gains[c][k]:+.1f} %" for c in self.clusters),
            )
            for k, b in enumerate(self.backups)
        )
        return Sheet("Median step and gain after paying", ("backups b", *self.clusters), rows)

    def _key(self, cluster: str, b: int) -> str:
        return f"law/{cluster}/{self.workers + b}/{self.rounds}"
