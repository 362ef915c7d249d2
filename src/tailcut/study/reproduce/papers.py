"""The papers by name, and their experiments in a quick and in a full version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tailcut.study.reproduce.bdsgd.cutoff import Cutoff
from tailcut.study.reproduce.bdsgd.imputation import Imputation
from tailcut.study.reproduce.bdsgd.order import Order, Sample
from tailcut.study.reproduce.bdsgd.runs import Runs
from tailcut.study.reproduce.bdsgd.throughput import Throughput
from tailcut.study.reproduce.bdsgd.training import Training
from tailcut.study.reproduce.bdsgd.training import arms as bdsgd_arms
from tailcut.study.reproduce.chen.backups import Backups
from tailcut.study.reproduce.chen.iterations import Iterations
from tailcut.study.reproduce.chen.side_by_side import SideBySide
from tailcut.study.reproduce.chen.side_by_side import arms as chen_arms
from tailcut.study.reproduce.chen.staleness import Staleness
from tailcut.study.reproduce.chen.step_times import StepTimes
from tailcut.study.reproduce.experiment import Bench, Experiment
from tailcut.study.reproduce.trainings import Contest

SMALL, LARGE = "xeon158", "knl2175"
DIGITS = "digits"
"""Task to train by default, and always where many short runs are needed."""
EDITION = 1
"""Edition of the experiments: a command is not resumed with results of another edition."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose experiments can be run.

    Attributes:
        title: authors, title and number.
        experiments: function of the bench and of whether to run in full; it returns the experiments in the
            order in which they are shown.
    """

    title: str
    experiments: Callable[[Bench, bool], tuple[Experiment, ...]]


def _chen(bench: Bench, full: bool) -> tuple[Experiment, ...]:
    clusters = ("iid-pareto:n=50", SMALL if full else f"{SMALL}:n=64")
    side = SideBySide(tuple(_beside(bench, full, cluster) for cluster in clusters))
    bench = replace(bench, task=DIGITS)
    if not full:
        return (Staleness(bench), Backups(bench, Iterations(bench)), side, StepTimes(bench))
    return (
        Staleness(bench, workers=(1, 4, 16, 64, 158), gradients=20_000, seeds=5),
        Backups(
            bench,
            Iterations(
                bench, counts=(12, 18, 25, 35, 50, 70, 100, 140, 200, 400, 800), seeds=20, tune_seeds=10
            ),
            sizes=(25, 50, 100, 158, 200),
            rounds=20_000,
            checked=(0, 1, 2, 3, 4, 6, 8, 12, 18, 25),
            seeds=10,
        ),
        side,
        StepTimes(bench, rounds=40_000),
    )


def _beside(bench: Bench, full: bool, cluster: str) -> Contest:
    few = (0.025, 0.05, 0.1, 0.15, 0.2, 0.4) if full else (0.05, 0.1, 0.2)
    return Contest(
        key="side-by-side",
        bench=bench,
        cluster=cluster,
        arms=chen_arms(few),
        budget=400.0,
        rounds=480,
        tune_rounds=150,
        rates=(0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5),
        optimiser="rmsprop",
        seeds=10 if full else 5,
        tune_seeds=5 if full else 3,
        every=_every(bench),
    )


def _every(bench: Bench) -> float:
    """Return the gradients per worker between evaluations: more for larger data, which take longer."""
    return 0.5 if bench.task == DIGITS else 5.0


def _bdsgd(bench: Bench, full: bool) -> tuple[Experiment, ...]:
    small = Runs(bench, SMALL, 1000 if full else 300, 50 if full else 30, 5 if full else 3)
    large = Runs(bench, LARGE, 200 if full else 80, 20, 5 if full else 3, window=5)
    contest = Contest(
        key="training",
        bench=bench,
        cluster=SMALL,
        arms=bdsgd_arms(bench, SMALL),
        budget=300.0,
        rounds=500,
        tune_rounds=120,
        rates=(0.1, 0.2, 0.35, 0.5, 0.7, 1.0),
        optimiser="momentum",
        seeds=20 if full else 10,
        tune_seeds=10 if full else 4,
        every=_every(bench),
    )
    samples = tuple(Sample(r.cluster, r.rounds, r.warm_up, r.seeds) for r in (small, large))
    return (
        Throughput((small, large)),
        Order(bench, samples),
        Training(contest),
        Imputation((small, large)),
        Cutoff((small, large)),
    )


PAPERS: dict[str, Paper] = {
    "chen2016": Paper(
        "Chen, Pan, Monga, Bengio, Jozefowicz: Revisiting Distributed Synchronous SGD (arXiv 1604.00981)",
        _chen,
    ),
    "bdsgd2018": Paper(
        "Teng, Wood: Bayesian Distributed Stochastic Gradient Descent (arXiv 1803.04209)", _bdsgd
    ),
}
"""Every paper by name."""
