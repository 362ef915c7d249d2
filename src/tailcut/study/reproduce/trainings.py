"""Jobs that train a net in virtual time: at several rates to tune, then once per seed to a budget of virtual time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailcut.engines.simulated.training import Look, Trained, train
from tailcut.forecast.bdsgd.state_space import one_thread
from tailcut.study.grid.config import Arm, Study
from tailcut.study.grid.makers import Makers
from tailcut.study.grid.run import try_rates
from tailcut.study.grid.setup import Place, Setup
from tailcut.study.grid.tuning import FIRST_SEED
from tailcut.study.parallel import Job
from tailcut.study.reproduce.experiment import Bench, Kept, missing
from tailcut.study.reproduce.judge import mean
from tailcut.types import Seconds

LAST = 5
"""Number of last evaluations of the net whose mean is the final figure."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Several ways to train one task on one cluster: each tuned on other seeds, then run on the same ones.

    Attributes:
        key: name of the experiment, the first part of every job's key.
        bench: functions that turn names into objects, and the task.
        cluster: name as in `tailcut`.
        arms: ways to train.
        budget: seconds of virtual time that every run lasts.
        rounds: rows of run times; enough for the budget.
        tune_rounds: rows of run times to tune on; enough for most to reach the target.
        rates: base learning rates to tune over.
        optimiser: name of the optimizer of all arms.
        seeds: number of runs of each arm.
        tune_seeds: number of runs of each candidate.
        every: gradients from one evaluation of the net to the next, as a share of the workers.
        beyond: whether runs continue after the target, to the end of the budget.
        batch: samples in a mini-batch; None for the task's.
    """

    key: str
    bench: Bench
    cluster: str
    arms: tuple[Arm, ...]
    budget: Seconds
    rounds: int
    tune_rounds: int
    rates: tuple[float, ...]
    optimiser: str
    seeds: int
    tune_seeds: int
    every: float = 0.5
    beyond: bool = True
    batch: int | None = None

    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        """Return the jobs of the tuning first, then the runs of every arm."""
        tuning = [
            Job(
                self._tune_key(arm, policy, seed),
                tune,
                (self._study(self.tune_rounds), self.bench.makers, place, rates),
            )
            for arm in self.arms
            for policy in arm.policies
            for seed in range(FIRST_SEED, FIRST_SEED + self.tune_seeds)
            for rates in [arm.rates or self.rates]
            # An arm with only one candidate needs no tuning.
            if len(rates) * len(arm.policies) > 1
            for place in [Place(self.bench.task, self.cluster, arm, policy, seed)]
        ]
        left = missing(tuning, kept)
        if left:
            return left
        runs = []
        for arm in self.arms:
            policy, rate = self.chosen(arm, kept)
            for seed in range(self.seeds):
                place = Place(self.bench.task, self.cluster, arm, policy, seed)
                study = self._study(self.rounds)
                arguments = (study, self.bench.makers, place, rate, self.budget, self.beyond)
                runs.append(Job(self._run_key(arm, seed), course, arguments))
        return missing(runs, kept)

    def chosen(self, arm: Arm, kept: Kept) -> tuple[str, float]:
        """Return the policy and rate that reached the target most often, then soonest, then came closest."""
        if len(arm.policies) * len(arm.rates or self.rates) == 1:
            return arm.policies[0], (arm.rates or self.rates)[0]
        tried: dict[tuple[str, float], list[dict[str, Any]]] = {}
        for policy in arm.policies:
            for seed in range(FIRST_SEED, FIRST_SEED + self.tune_seeds):
                for one in kept[self._tune_key(arm, policy, seed)]:
                    tried.setdefault((policy, one["rate"]), []).append(one)
        return min(tried, key=lambda choice: _badness(tried[choice]))

    def at_edge(self, arm: Arm, kept: Kept) -> bool:
        """Return whether the chosen rate is the smallest or largest tried: a better one may lie beyond."""
        rates = arm.rates or self.rates
        return len(rates) > 1 and self.chosen(arm, kept)[1] in (min(rates), max(rates))

    def runs(self, name: str, kept: Kept) -> list[dict[str, Any]]:
        """Return the runs of an arm, seed by seed."""
        arm = next(arm for arm in self.arms if arm.name == name)
        return [kept[self._run_key(arm, seed)] for seed in range(self.seeds)]

    def seconds(self, name: str, kept: Kept) -> list[float]:
        """Return virtual seconds to the target, seed by seed; infinite where it was not reached."""
        return [unless_none(run["reached"], math.inf) for run in self.runs(name, kept)]

    def finals(self, name: str, kept: Kept) -> list[float]:
        """Return the final accuracy in percent, seed by seed."""
        return [100.0 * run["final"] for run in self.runs(name, kept)]

    def _study(self, rounds: int) -> Study:
        return Study(
            name=self.key,
            tasks=(self.bench.task,),
            clusters=(self.cluster,),
            arms=self.arms,
            rounds=rounds,
            budget="rounds",
            optimiser=self.optimiser,
            every=self.every,
            batch=self.batch,
        )

    def _tune_key(self, arm: Arm, policy: str, seed: int) -> str:
        # The key is without the model's path, so that it does not depend on the folder.
        return f"{self.key}/{self.cluster}/{arm.name}/tune/{policy.partition(':model=')[0]}/{seed}"

    def _run_key(self, arm: Arm, seed: int) -> str:
        return f"{self.key}/{self.cluster}/{arm.name}/{seed}"


def tune(study: Study, makers: Makers, place: Place, rates: Sequence[float]) -> list[dict[str, Any]]:
    """Train at each rate until the target or the end of the run times."""
    return [
        {"rate": one.rate, "seconds": finite(one.seconds), "last": finite(one.last)}
        for one in try_rates(study, makers, place, rates)
    ]


def course(
    study: Study, makers: Makers, place: Place, rate: float, budget: Seconds, beyond: bool
) -> dict[str, Any]:
    """Train once for a budget of virtual time, or only until the target, and return the whole curve."""
    with one_thread():
        setup = Setup.of(study, makers, place)
        look = replace(setup.look, seconds=budget, beyond=beyond)
        trained = train(setup.stream(), setup.trainer(rate), setup.meter(), look)
    return told(trained, look, setup.target.figure)


def told(trained: Trained, look: Look, figure: str) -> dict[str, Any]:
    """Return a training as plain values; the final figure is 0 if the net diverged or has no finite figure."""
    points = trained.points
    values = [finite(point.figures[figure]) for point in points]
    seen = [value for value in values[-LAST:] if value is not None]
    final = 0.0 if trained.ending == "diverged" or not seen else mean(seen)
    return {
        "ending": trained.ending,
        "reached": finite(trained.seconds_to_target),
        "updates_to_target": trained.updates_to_target,
        "final": final,
        "seconds": [round(point.seconds, 3) for point in points],
        "figure": values,
        "cutoff": [round(point.cutoff, 2) for point in points],
        "updates": trained.totals.updates,
        "gradients": trained.totals.gradients,
        "staleness": trained.totals.staleness,
        "idle": trained.totals.idle,
        "budget": finite(look.seconds),
    }


def finite(value: float) -> float | None:
    """Return the value, or None for NaN and infinities, which JSON does not have."""
    return value if math.isfinite(value) else None


def unless_none(value: float | None, otherwise: float) -> float:
    """Return the value, or `otherwise` if it is None."""
    return otherwise if value is None else value


def _badness(tries: Sequence[dict[str, Any]]) -> tuple[float, float, float]:
    reached = [one["seconds"] for one in tries if one["seconds"] is not None]
    closeness = mean([unless_none(one["last"], 0.0) for one in tries])
    return -float(len(reached)), mean(reached) if reached else math.inf, -closeness
