"""The setup that the runs of one place in the grid share: objects, settings, and parts of a new run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

from tailcut.engines.simulated import Updates
from tailcut.engines.simulated.meter import Meter
from tailcut.engines.simulated.requeue import TaskJobs
from tailcut.engines.simulated.training import Look
from tailcut.errors import ParameterError, UnknownNameError
from tailcut.learning.rates import refuse_mismatch
from tailcut.learning.recipe import Recipe, Stale, rule_of
from tailcut.learning.tasks.base import Target, Task
from tailcut.learning.tasks.checks import check_batch
from tailcut.learning.trainer import Trainer
from tailcut.rules import Rule
from tailcut.study.contest import Entrant
from tailcut.study.grid.budget import Budget, timed
from tailcut.study.grid.config import Arm, Study
from tailcut.study.grid.journal import Head
from tailcut.study.grid.makers import Makers
from tailcut.study.grid.schedule import looks_at_gradients, stream_of
from tailcut.study.source import Draw
from tailcut.types import Seconds

RULES = {"count": "linear", "gain": "gain", "descent": "fixed"}
"""The learning-rate rule that goes with each objective."""
SOFTSYNC = "softsync"
"""The policy whose published form divides the rate of a gradient by its staleness (Zhang et al. 2016)."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a run in the grid; `policy` is one of the arm's."""

    task: str
    cluster: str
    arm: Arm
    policy: str
    seed: int


@dataclass(frozen=True, slots=True)
class Setup:
    """The setup that the runs of one place share.

    Attributes:
        study, place: the study and the place in its grid.
        task, entrant: objects that the names stand for.
        budget: run times, and the time that a run may take.
        stale: weight of stale gradients.
        rule: name of the learning-rate rule.
        target: target to be reached.
        batch: samples in a worker's mini-batch.
    """

    study: Study
    place: Place
    task: Task
    entrant: Entrant
    budget: Budget
    stale: str
    rule: str
    target: Target
    batch: int

    @staticmethod
    def of(study: Study, makers: Makers, place: Place) -> Setup:
        """Look up names and draw run times.

        Raises:
            ParameterError: settings do not go together.
        """
        task, entrant = makers.task(place.task), makers.entrant(place.policy)
        objective = entrant.policy.rule.objective_name
        stale = place.arm.stale or ("inverse" if place.policy.split(":")[0] == SOFTSYNC else "plain")
        # The published rule is α₀/τ for each gradient. The linear rule on top of it would divide by staleness twice.
        rule = place.arm.rate_rule or ("fixed" if stale == "inverse" else RULES[objective])
        refuse_mismatch(objective, rule)
        target = _target(study, task)
        source = makers.source(place.cluster)
        if study.budget == "time":
            budget = timed(source, place.seed, study.rounds)
        else:
            budget = Budget(source.draw(place.seed, study.rounds), math.inf)
        batch = task.batch if study.batch is None else study.batch
        check_batch(batch, task.samples)
        return Setup(study, place, task, entrant, budget, stale, rule, target, batch)

    def refuse_impossible(self) -> None:
        """Refuse a policy that waits for more workers than there are.

        Raises:
            ParameterError: the policy does so.
        """
        rule: Rule[Any, Any] | None = self.entrant.policy.rule
        while rule is not None:
            for name, least in (("c", 0), ("least", 0), ("b", 1)):
                asked = getattr(rule, name, None)
                if isinstance(asked, int) and asked > self.workers - least:
                    raise ParameterError(
                        f"{self.place.policy} has {name}={asked}, but {self.place.cluster} has only {self.workers} "
                        "workers. Ask for fewer."
                    )
            rule = getattr(rule, "inner", None)

    @property
    def draw(self) -> Draw:
        """The run times."""
        return self.budget.draw

    @property
    def workers(self) -> int:
        """The number of workers in the cluster."""
        return self.draw.table.workers

    @property
    def follows(self) -> bool:
        """Return whether the schedule depends on the training."""
        return looks_at_gradients(self.entrant)

    @property
    def optimiser(self) -> str:
        """The arm's optimizer, or the study's."""
        return self.place.arm.optimiser or self.study.optimiser

    @property
    def look(self) -> Look:
        """The schedule of evaluations of the net."""
        every = self.study.every * self.workers
        return Look(self.target, every, self.budget.seconds, beyond=self.study.beyond)

    def quick_look(self, seconds: Seconds) -> Look:
        """Return the `Look` for tuning: a run ends at its target, or after `seconds` of virtual time."""
        return replace(self.look, seconds=min(seconds, self.budget.seconds), beyond=False)

    def stream(self) -> Updates:
        """Return the updates, from the first on."""
        jobs = None
        if self.study.requeue or type(self.task).work is not Task.work:
            jobs = TaskJobs(self.task, self.place.seed, self.study.requeue)
        return stream_of(self.entrant, self.draw, self.study.late == "finish", jobs)

    def recipe(self, rate: float) -> Recipe:
        """Return the recipe by which gradients become updates."""
        return Recipe(
            rate,
            rule_of(self.rule, self.study.warm_up),
            self.optimiser,
            self.study.clip,
            cast(Stale, self.stale),
            average=self.study.average,
        )

    def trainer(self, rate: float) -> Trainer:
        """Return a new trainer."""
        keeps = self.entrant.acceptance.keeps_work
        return Trainer(self.task, self.recipe(rate), self.workers, self.batch, self.place.seed, keeps)

    def meter(self) -> Meter:
        """Return a new meter."""
        return Meter(self.workers, self.draw.overhead, self.entrant.acceptance.refill)

    def head(self, rate: float, trainer: Trainer) -> Head:
        """Return the head of the journal."""
        return Head(
            task=self.place.task,
            cluster=self.place.cluster,
            arm=self.place.arm.name,
            policy=self.place.policy,
            rate_rule=self.rule,
            rate=rate,
            optimiser=self.optimiser,
            seed=self.place.seed,
            workers=self.workers,
            batch=self.batch,
            parameters=len(trainer.net.vector),
            figure=self.target.figure,
            value=self.target.value,
            at=self.target.at,
            late=self.study.late,
            overhead=self.draw.overhead,
            requeue=self.study.requeue,
        )


def _target(study: Study, task: Task) -> Target:
    """Return the study's target, or the task's own."""
    if study.target is None:
        return task.target
    if study.figure is None or study.figure == task.target.figure:
        return replace(task.target, value=study.target)
    return Target(study.figure, study.target, "most" if "loss" in study.figure else "least")


def refuse_unknown_figure(study: Study, name: str, task: Task) -> None:
    """Refuse a study whose target is about a figure that the task does not have.

    Raises:
        UnknownNameError: the task does not have it.
    """
    if study.figure is not None:
        known = task.evaluate(task.net(0))
        if study.figure not in known:
            raise UnknownNameError(f"figure of {name}", study.figure, known)
