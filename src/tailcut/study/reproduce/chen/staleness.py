"""The staleness of gradients in asynchronous SGD, and its effect on the final net."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tailcut.acceptance import ASYNCHRONOUS
from tailcut.clusters import Iid, LogNormal
from tailcut.engines.simulated import updates
from tailcut.engines.simulated.meter import Meter
from tailcut.engines.simulated.training import Look, train
from tailcut.forecast.bdsgd.state_space import one_thread
from tailcut.learning.recipe import Recipe, rule_of
from tailcut.learning.trainer import Trainer
from tailcut.policies import asynchronous
from tailcut.study.grid.makers import Makers
from tailcut.study.grid.tuning import FIRST_SEED
from tailcut.study.parallel import Job
from tailcut.study.reproduce.chen import WHOSE
from tailcut.study.reproduce.experiment import Bench, Experiment, Kept, missing
from tailcut.study.reproduce.findings import Claim, Finding, Line, Plot, Sheet
from tailcut.study.reproduce.judge import Measure, compared, grows, mean
from tailcut.study.reproduce.trainings import told

SIGMA = 0.1
"""Spread of the run times of equal workers: without it, they would always arrive in the same order."""
LOOKS = 25
ERROR = Measure("%", digits=1)


@final
@dataclass(frozen=True, slots=True)
class Staleness(Experiment):
    """Asynchronous SGD with more and more equal workers, the same number of gradients for each.

    Attributes:
        bench: functions that turn names into objects, and the task.
        workers: numbers of workers, in order; the first is 1, whose tuned rate the others try too.
        rates: learning rates of a single gradient to tune over.
        gradients: number of gradients that every run uses.
        seeds: number of runs of each number of workers and rate.
        key: name of the experiment.
    """

    bench: Bench
    workers: tuple[int, ...] = (1, 4, 16, 64)
    rates: tuple[float, ...] = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064)
    gradients: int = 5000
    seeds: int = 3
    key: str = "staleness"

    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        """Return runs of every rate on a tuning seed; then of the best and of one worker's best rate."""
        tuning = [self._job(n, rate, FIRST_SEED) for n in self.workers for rate in self.rates]
        left = missing(tuning, kept)
        if left:
            return left
        runs = [
            self._job(n, rate, seed)
            for n in self.workers
            for rate in dict.fromkeys((self.tuned(n, kept), self.tuned(1, kept)))
            for seed in range(self.seeds)
        ]
        return missing(runs, kept)

    def tuned(self, n: int, kept: Kept) -> float:
        """Return the rate with the smallest final error, on a seed that no figure uses."""
        return max(self.rates, key=lambda rate: kept[self._key(n, rate, FIRST_SEED)]["final"])

    def finding(self, kept: Kept) -> Finding:
        """Find staleness and final error by the number of workers."""
        ages = {
            n: [run["staleness"] for run in self._runs(n, self.tuned(n, kept), kept)] for n in self.workers
        }
        tuned = {n: self._errors(n, self.tuned(n, kept), kept) for n in self.workers}
        same = {n: self._errors(n, self.tuned(1, kept), kept) for n in self.workers}
        return Finding(
            key=self.key,
            title="How stale asynchronous gradients are, and what that costs",
            setting=(
                f"Asynchronous SGD on {self.bench.what} with equal workers, {self.gradients} gradients "
                "in every run, RMSProp as in the paper. Learning rates are tuned for each number of workers on another "
                "seed; the error is the mean of the last five looks. The paper trained a convolutional net."
            ),
            claims=self._claims(ages, tuned, same, self.tuned(1, kept)),
            sheets=(self._sheet(ages, tuned, same, kept),),
            plots=(self._plot(ages, tuned, same),),
        )

    def _claims(
        self,
        ages: dict[int, list[float]],
        tuned: dict[int, list[float]],
        same: dict[int, list[float]],
        rate: float,
    ) -> tuple[Claim, ...]:
        most = self.workers[-1]
        alone, crowd = ("1 worker", tuned[1]), (f"{most} workers", tuned[most])
        age_holds = all(abs(mean(ages[n]) - (n - 1)) <= 0.05 * n for n in self.workers)
        fixed, own = ([mean(errors[n]) for n in self.workers] for errors in (same, tuned))
        return (
            Claim(
                "With n equal workers a gradient is n − 1 updates old on average.",
                age_holds,
                "; ".join(f"n = {n}: {mean(ages[n]):.2f}" for n in self.workers),
                WHOSE,
            ),
            Claim(
                "The more stale the gradients, the larger the final error: at the learning rate of one worker.",
                grows(fixed, slack=1.0) and compared(ERROR, ("", same[1]), ("", same[most])).holds,
                f"rate {rate:g}: " + "; ".join(f"n = {n}: {ERROR.told(same[n])}" for n in self.workers),
                WHOSE,
            ),
            Claim(
                "The more stale the gradients, the larger the final error: with the rate tuned for every staleness.",
                grows(own, slack=1.0) and compared(ERROR, alone, crowd).holds,
                compared(ERROR, alone, crowd).figure,
                WHOSE,
            ),
        )

    def _sheet(
        self,
        ages: dict[int, list[float]],
        tuned: dict[int, list[float]],
        same: dict[int, list[float]],
        kept: Kept,
    ) -> Sheet:
        rows = tuple(
            (
                str(n),
                Measure(digits=2).told(ages[n]),
                f"{self.tuned(n, kept):g}",
                ERROR.told(tuned[n]),
                ERROR.told(same[n]),
            )
            for n in self.workers
        )
        headings = ("workers", "mean staleness", "tuned rate", "error, tuned", "error, rate of one worker")
        return Sheet("Staleness and final test error, mean (worst–best)", headings, rows)

    def _plot(
        self, ages: dict[int, list[float]], tuned: dict[int, list[float]], same: dict[int, list[float]]
    ) -> Plot:
        # Staleness 0 has no place on a logarithmic axis: the axis is 1 + staleness.
        x = tuple(1.0 + mean(ages[n]) for n in self.workers)
        lines = tuple(
            Line(
                name,
                x,
                tuple(mean(errors[n]) for n in self.workers),
                tuple(max(errors[n]) for n in self.workers),
                tuple(min(errors[n]) for n in self.workers),
            )
            for name, errors in (("rate tuned for each", tuned), ("rate of one worker", same))
        )
        return Plot(
            title="Final error against staleness",
            caption="Test error after the same number of gradients; the band goes from the worst to the best seed.",
            x_label="1 + mean staleness, updates",
            y_label="test error, %",
            lines=lines,
            x_log=True,
            y_log=True,
        )

    def _errors(self, n: int, rate: float, kept: Kept) -> list[float]:
        return [100.0 * (1.0 - run["final"]) for run in self._runs(n, rate, kept)]

    def _runs(self, n: int, rate: float, kept: Kept) -> list[dict[str, Any]]:
        return [kept[self._key(n, rate, seed)] for seed in range(self.seeds)]

    def _key(self, n: int, rate: float, seed: int) -> str:
        return f"{self.key}/{n}/{rate:g}/{seed}"

    def _job(self, n: int, rate: float, seed: int) -> Job[str, Any]:
        arguments = (self.bench.makers, self.bench.task, n, rate, self.gradients, seed)
        return Job(self._key(n, rate, seed), one_run, arguments)


def one_run(makers: Makers, name: str, n: int, rate: float, gradients: int, seed: int) -> dict[str, Any]:
    """Train by asynchronous SGD with `n` equal workers."""
    task = makers.task(name)
    # Each worker needs about gradients / n rows, and a fast worker some more.
    rows = gradients // n + 8 + gradients // (4 * n)
    table = Iid(LogNormal(1.0, SIGMA), n).sample(rows, np.random.default_rng(seed)).table
    look = Look(None, gradients / LOOKS, updates=gradients)
    with one_thread():
        trainer = Trainer(
            task, Recipe(rate, rule_of("fixed"), "rmsprop"), n, task.batch, seed, keeps_work=True
        )
        stream = updates(table, asynchronous(), acceptance=ASYNCHRONOUS)
        trained = train(stream, trainer, Meter(n, 0.0, True), look)
    return told(trained, look, task.target.figure)
