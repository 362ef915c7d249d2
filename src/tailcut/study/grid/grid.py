"""The execution of a study: look up names, train run-time models, tune, run; finished work is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tailcut.study.grid.config import Arm, Study
from tailcut.study.grid.folder import Folder, Try
from tailcut.study.grid.makers import Makers
from tailcut.study.grid.prefit import is_mixture, needs_model, prefit, with_model
from tailcut.study.grid.run import Result, run, try_rates
from tailcut.study.grid.setup import Place, Setup, refuse_unknown_figure
from tailcut.study.grid.tuning import FIRST_SEED, Choice, best, edge_note, rates_of, told
from tailcut.study.parallel import Job, each_done

Tell = Callable[[str, int, int], None]
"""Callback for progress: the name of the stage, its number of finished jobs, and of all its jobs."""
Models = dict[tuple[str, bool], Path]
"""Files of the published forecaster's models, by cluster and whether the emission is a mixture."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A study in its folder.

    Attributes:
        study: the study.
        makers: functions that turn names into objects.
        folder: folder of the study.
        processes: number of processes; None for one per core.
    """

    study: Study
    makers: Makers
    folder: Folder
    processes: int | None = None

    def carry_out(self, tell: Tell, warn: Callable[[str], None] = lambda _: None) -> int:
        """Do all remaining work, and return the number of runs in the study.

        Args:
            tell: called with the progress.
            warn: called with a whole sentence on each thing that makes results doubtful, as soon as it is
                known.
        """
        at = self.check()
        models = self._prefit(tell)
        chosen = self._tune(models, at, tell)
        for sentence in self._edges(chosen):
            warn(sentence)
        return self._run(chosen, tell)

    def _edges(self, chosen: dict[tuple[str, str, str], Choice]) -> Iterator[str]:
        """Yield a sentence for each task and cluster where a chosen rate is at the edge of its grid."""
        for task in self.study.tasks:
            for cluster in self.study.clusters:
                arms = self.study.arms
                note = edge_note(
                    [
                        (arm.name, chosen[task, cluster, arm.name].rate, rates_of(self.study, arm))
                        for arm in arms
                    ]
                )
                if note is not None:
                    yield f"{task} on {cluster}: {note}"

    def check(self) -> dict[str, Literal["least", "most"]]:
        """Look up every name once, so that none fails after hours; return each task's kind of target.

        Raises:
            InputError: something is unknown or does not go together.
        """
        found: dict[str, Literal["least", "most"]] = {}
        for task, cluster, arm in self._cells():
            for policy in arm.policies:
                if needs_model(policy):
                    continue
                setup = Setup.of(self.study, self.makers, Place(task, cluster, arm, policy, 0))
                setup.refuse_impossible()
                for rate in rates_of(self.study, arm):
                    setup.recipe(rate)
                found[task] = setup.target.at
        for name in self.study.tasks:
            made = self.makers.task(name)
            found.setdefault(name, made.target.at)
            refuse_unknown_figure(self.study, name, made)
        return found

    def _cells(self) -> Iterator[tuple[str, str, Arm]]:
        for task in self.study.tasks:
            for cluster in self.study.clusters:
                for arm in self.study.arms:
                    yield task, cluster, arm

    def _prefit(self, tell: Tell) -> Models:
        """Train the published forecaster per cluster and emission that arms need; return model files."""
        wanted = {is_mixture(p) for arm in self.study.arms for p in arm.policies if needs_model(p)}
        paths = {
            (cluster, mixture): self.folder.model(cluster, mixture)
            for cluster in self.study.clusters
            for mixture in sorted(wanted)
        }
        jobs = [
            Job((cluster, mixture), prefit, (self.makers.source, cluster, path, mixture))
            for (cluster, mixture), path in paths.items()
            if not path.exists()
        ]
        for number, _ in enumerate(each_done(jobs, self.processes), 1):
            tell("training run-time models", number, len(jobs))
        return paths

    def _place(self, task: str, cluster: str, arm: Arm, policy: str, seed: int, models: Models) -> Place:
        if needs_model(policy):
            policy = with_model(policy, models[cluster, is_mixture(policy)])
        return Place(task, cluster, arm, policy, seed)

    def _tune(
        self, models: Models, at: dict[str, Literal["least", "most"]], tell: Tell
    ) -> dict[tuple[str, str, str], Choice]:
        """Run the remaining candidates; return the best of each arm on each task and cluster."""
        candidates = list(self._candidates(models))
        wanted = {(*_where(place), rate) for place, rates in candidates for rate in rates}
        # A file that was changed may hold a run twice, or a run of another study, which would count in the
        # choice.
        known = {key: one for one in self.folder.tried() if (key := _key(one)) in wanted}
        left = [
            (place, [rate for rate in rates if (*_where(place), rate) not in known])
            for place, rates in candidates
        ]
        jobs = [
            Job(place, try_rates, (self.study, self.makers, place, rates)) for place, rates in left if rates
        ]
        tries = list(known.values())
        for number, (place, results) in enumerate(each_done(jobs, self.processes), 1):
            new = [Try(*_where(place), result) for result in results]
            self.folder.note(new)
            tries += new
            tell("tuning", number, len(jobs))
        chosen = {}
        for task, cluster, arm in self._cells():
            mine = [one for one in tries if (one.task, one.cluster, one.arm) == (task, cluster, arm.name)]
            only = self._place(task, cluster, arm, arm.policies[0], 0, models).policy
            chosen[task, cluster, arm.name] = (
                best(mine, at[task]) if mine else Choice(only, rates_of(self.study, arm)[0])
            )
        self.folder.write_tuned(told(tries, chosen))
        return chosen

    def _candidates(self, models: Models) -> Iterator[tuple[Place, tuple[float, ...]]]:
        """Yield the places of the tuning, each with the rates to try there."""
        for task, cluster, arm in self._cells():
            rates = rates_of(self.study, arm)
            # An arm with only one candidate needs no tuning.
            if len(arm.policies) * len(rates) == 1:
                continue
            for policy in arm.policies:
                for seed in range(FIRST_SEED, FIRST_SEED + self.study.tune_seeds):
                    yield self._place(task, cluster, arm, policy, seed, models), rates

    def _run(self, chosen: dict[tuple[str, str, str], Choice], tell: Tell) -> int:
        """Carry out the remaining runs; return the number of all runs."""
        jobs: list[Job[Place, Result]] = []
        total = 0
        for task, cluster, arm in self._cells():
            choice = chosen[task, cluster, arm.name]
            for seed in range(self.study.seeds):
                total += 1
                place = Place(task, cluster, arm, choice.policy, seed)
                if not self.folder.is_done(place, choice.rate):
                    arguments = (self.study, self.makers, place, choice.rate, self.folder.journal(place))
                    jobs.append(Job(place, run, arguments))
        for number, _ in enumerate(each_done(jobs, self.processes), 1):
            tell("running", total - len(jobs) + number, total)
        return total


def _where(place: Place) -> tuple[str, str, str, str, int]:
    """Return the fields that identify a run of the tuning, except for its rate."""
    return place.task, place.cluster, place.arm.name, place.policy, place.seed


def _key(one: Try) -> tuple[str, str, str, str, int, float]:
    return one.task, one.cluster, one.arm, one.policy, one.seed, one.result.rate
