"""Backup workers: the trade between updates and seconds against brute force, and small trainings."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="training needs it")
pytest.importorskip("sklearn", reason="the digits come with it")

from tailcut import names
from tailcut.engines.simulated.training import train
from tailcut.errors import InputError
from tailcut.study.grid.config import Arm
from tailcut.study.grid.makers import Makers
from tailcut.study.grid.setup import Setup
from tailcut.study.reproduce.chen import backups, staleness
from tailcut.study.reproduce.chen.iterations import Fit, Iterations, fitted
from tailcut.study.reproduce.chen.iterations import one_run as sync_run
from tailcut.study.reproduce.chen.step_times import StepTimes
from tailcut.study.reproduce.chen.trade import Trade
from tailcut.study.reproduce.experiment import Bench
from tailcut.study.reproduce.trainings import Contest

MAKERS = Makers(names.task, names.source, names.entrant)
BENCH = Bench(MAKERS, Path("nowhere"))


def harmonic(n: int) -> float:
    return sum(1.0 / k for k in range(1, n + 1))


def test_the_fit_finds_the_law_that_made_the_numbers() -> None:
    fit = fitted({count: [20.0 + 600.0 / count] * 3 for count in (6, 12, 50, 100)})
    assert (fit.least, fit.extra) == pytest.approx((20.0, 600.0))
    assert fit.noise == pytest.approx(30.0)
    assert fit.unsaturated(10) == pytest.approx(60.0)


def test_the_fit_leaves_out_who_never_arrives_and_has_no_negative_part() -> None:
    fit = fitted({6: [math.inf, 50.0], 10: [100.0], 20: [48.0], 40: [22.0]})
    assert fit.least == 0.0
    assert fit(20) == pytest.approx(48.0, rel=0.1)


def test_a_fit_to_one_size_alone_is_refused() -> None:
    with pytest.raises(InputError, match="Only 1 of 2 sizes"):
        fitted({6: [math.inf], 10: [100.0]})


@pytest.mark.parametrize("n", [10, 40])
def test_the_best_number_of_backups_is_that_of_brute_force(n: int) -> None:
    """Run times 1 + Exp(1): E[x_(N) of n] = 1 + H_n − H_{n−N}, and updates in proportion to 1/N."""
    times = [1.0 + harmonic(n) - harmonic(n - k) for k in range(1, n + 1)]
    trade = Trade.of("exponential", "∝ 1/N", times, Fit(0.0, 200.0), batch=2)
    products = {b: 100.0 / (n - b) * times[n - b - 1] for b in range(n)}
    assert trade.best == min(products, key=lambda b: products[b])
    assert trade.seconds == pytest.approx(tuple(products.values()))
    assert trade.over_best(trade.best) == 1.0


def test_equal_workers_need_no_backups() -> None:
    assert Trade.of("equal", "", [1.0] * 20, Fit(10.0, 100.0), 1).best == 0


def test_with_updates_that_do_not_depend_on_n_one_gradient_is_enough() -> None:
    """The first arrival is then the best time to close: no optimum is interior, and the claim says so."""
    trade = Trade.of("saturated", "", [1.0 + 0.1 * k for k in range(20)], Fit(10.0, 0.0), 1)
    inside, few = backups._best(trade, trade)
    assert trade.best == 19
    assert not inside.holds
    assert not few.holds


@pytest.mark.parametrize("n", [1, 6])
def test_staleness_of_equal_workers_is_n_less_one(n: int) -> None:
    run = staleness.one_run(MAKERS, "digits:hidden=4", n, 0.01, 300, 0)
    assert run["staleness"] == pytest.approx(n - 1, abs=0.1)
    assert run["updates"] == 300
    assert 0.0 <= run["final"] <= 1.0


def test_synchronous_runs_count_updates_to_the_target() -> None:
    found = sync_run(MAKERS, "digits:goal=0.6", 48, 0.5, 60, 0)
    assert 1 <= found["updates_to_target"] <= 60
    assert sync_run(MAKERS, "digits:goal=0.99", 6, 0.001, 3, 0) == {"updates_to_target": None}


def test_samples_of_one_worker_are_as_good_as_those_of_many() -> None:
    """Neither is told from the other by the updates it needs, over some seeds."""
    alone = [
        sync_run(MAKERS, "digits:goal=0.8", 40, 0.2, 200, seed)["updates_to_target"] for seed in range(4)
    ]
    arms = (Arm("sync", ("wait-all",), "fixed", (0.2,)),)
    contest = Contest("c", BENCH, "demo8", arms, math.inf, 200, 0, (0.2,), "rmsprop", 4, 0, 1.0, False, 5)
    many = []
    for job in contest.jobs({}):
        setup = Setup.of(replace(job.arguments[0], target=0.8), *job.arguments[1:3])
        many.append(train(setup.stream(), setup.trainer(0.2), setup.meter(), setup.look).updates_to_target)
    assert None not in (*alone, *many)
    assert np.mean(alone) == pytest.approx(np.mean(many), rel=0.35)


def test_rates_are_tuned_on_seeds_that_no_figure_uses() -> None:
    iterations = Iterations(BENCH, counts=(10, 40), rates=(0.1, 0.5), seeds=2, tune_seeds=2)
    kept = {job.key: {"updates_to_target": 9} for job in iterations.jobs({})}
    kept["iterations/10/0.5/1000"] = {"updates_to_target": 2}
    kept["iterations/40/0.5/1001"] = {"updates_to_target": None}
    assert iterations.tuned(10, kept) == 0.5
    assert iterations.tuned(12, kept) == 0.5  # the nearest count's
    assert iterations.tuned(40, kept) == 0.1
    assert [job.key for job in iterations.jobs(kept)] == [
        "iterations/10/0.5/0",
        "iterations/10/0.5/1",
        "iterations/40/0.1/0",
        "iterations/40/0.1/1",
    ]


def test_step_times_pay_for_their_machines() -> None:
    """Ten of 10 + b workers, each 10 % likely to be 9 times slow: without a backup most steps are slow."""
    experiment = StepTimes(BENCH, clusters=("demo8",), workers=10, backups=(0, 1, 2, 3, 5, 8, 12), rounds=600)
    kept = {job.key: job.work(*job.arguments) for job in experiment.jobs({})}
    finding = experiment.finding(kept)
    median = {b: float(np.median(_nth(10 + b, 10, 600))) for b in experiment.backups}
    gains = {b: median[0] / median[b] * 10 / (10 + b) for b in experiment.backups}
    best = max(gains, key=lambda b: gains[b])
    assert f"at b = {best};" in finding.claims[1].figure
    assert finding.claims[1].holds
    assert not experiment.jobs(kept)


def _nth(workers: int, n: int, rounds: int) -> np.ndarray:
    seconds = names.source(f"demo8:n={workers}").draw(3000, rounds).table.seconds
    return np.sort(seconds, axis=1)[:, n - 1]


def test_a_contest_tunes_on_other_seeds_and_runs_to_its_budget() -> None:
    arms = (Arm("sync", ("wait-all",), "linear"), Arm("two", ("backup:b=1", "backup:b=2"), "linear", (0.2,)))
    contest = Contest("c", BENCH, "demo8", arms, 40.0, 60, 40, (0.05, 0.2), "rmsprop", seeds=2, tune_seeds=1)
    kept = {job.key: job.work(*job.arguments) for job in contest.jobs({})}
    assert set(kept) == {
        "c/demo8/sync/tune/wait-all/1000",
        "c/demo8/two/tune/backup:b=1/1000",
        "c/demo8/two/tune/backup:b=2/1000",
    }
    policy, rate = contest.chosen(arms[1], kept)
    assert policy in arms[1].policies
    assert rate == 0.2
    kept |= {job.key: job.work(*job.arguments) for job in contest.jobs(kept)}
    assert not contest.jobs(kept)
    for name in ("sync", "two"):
        runs = contest.runs(name, kept)
        assert [run["seconds"][-1] <= 60.0 for run in runs] == [True, True]
        assert all(
            run["gradients"] / run["updates"] == pytest.approx(8 if name == "sync" else 7, abs=1.01)
            for run in runs
        )
    assert not contest.at_edge(arms[1], kept)
