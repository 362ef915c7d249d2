"""The published model in small: trained, run with and without imputation, and what was imputed."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the published model needs it")

from tailcut import names
from tailcut.engines.simulated import replay
from tailcut.fitting.bdsgd import BdsgdSettings, BdsgdTraining
from tailcut.fitting.bdsgd_file import write_bdsgd
from tailcut.fitting.loop import fit
from tailcut.study.grid.makers import Makers
from tailcut.study.reproduce.bdsgd import PUBLISHED
from tailcut.study.reproduce.bdsgd.cutoff import Cutoff
from tailcut.study.reproduce.bdsgd.imputation import Imputation, imputed
from tailcut.study.reproduce.bdsgd.order import Order, Sample
from tailcut.study.reproduce.bdsgd.runs import Runs
from tailcut.study.reproduce.bdsgd.throughput import Throughput
from tailcut.study.reproduce.experiment import Bench, Experiment
from tailcut.study.reproduce.findings import Finding
from tailcut.study.reproduce.papers import PAPERS
from tailcut.study.reproduce.timings import model_file, model_jobs, published

MAKERS = Makers(names.task, names.source, names.entrant)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A bench with a model of nodes16 that was trained for three epochs."""
    made = Bench(MAKERS, tmp_path_factory.mktemp("models"))
    rows = names.source("nodes16").draw(2000, 80).table.seconds
    training = BdsgdTraining(rows, BdsgdSettings(window=5), seed=0)
    fit(training, epochs=3, patience=3)
    write_bdsgd(model_file(made, "nodes16"), training.model(), {})
    return made


def finding(experiment: Experiment) -> Finding:
    kept: dict[str, object] = {}
    while jobs := experiment.jobs(kept):
        kept |= {job.key: job.work(*job.arguments) for job in jobs}
    return experiment.finding(kept)


def test_the_model_is_trained_first_and_once(bench: Bench, tmp_path: Path) -> None:
    assert model_jobs(bench, ("nodes16",)) == []
    (job,) = model_jobs(Bench(MAKERS, tmp_path), ("nodes16",))
    assert job.key == "models/nodes16"
    assert (
        Runs(Bench(MAKERS, tmp_path), "nodes16", 40, 10, 1).jobs(("wait-all",), {})[0].key == "models/nodes16"
    )


def test_throughput_and_cutoff_are_judged_on_the_same_runs(bench: Bench) -> None:
    runs = Runs(bench, "nodes16", 40, 10, 2, window=5)
    kept: dict[str, object] = {}
    throughput, cutoff = Throughput((runs,)), Cutoff((runs,))
    kept |= {job.key: job.work(*job.arguments) for job in throughput.jobs(kept)}
    assert cutoff.jobs(kept) == []
    better = [
        ours > theirs
        for ours, theirs in zip(runs.rates(PUBLISHED, kept), runs.rates("wait-all", kept), strict=True)
    ]
    assert throughput.finding(kept).claims[0].holds is all(better)
    assert len(throughput.finding(kept).plots) == 2
    assert len(cutoff.finding(kept).claims) == 4


def test_what_was_imputed_is_held_against_the_run_times_of_exactly_those_that_were_cut(bench: Bench) -> None:
    policy = published(bench, "nodes16", closed=True)
    found = imputed(MAKERS, "nodes16", policy, 0, 40, 10)
    table = names.source("nodes16").draw(0, 40).table
    run = replay(table, MAKERS.entrant(policy).policy)
    cut = ~run.accepted[10:]
    assert found["cut"] == pytest.approx(cut.mean())
    assert found["true_mean"] == pytest.approx(table.seconds[10:][cut].mean())
    # A draw above the close of its round can be no smaller than the earliest close.
    assert found["imputed"][0] > run.elapsed[10:].min()


def test_imputation_is_held_against_the_same_policy_that_sees_all(bench: Bench) -> None:
    runs = Runs(bench, "nodes16", 40, 10, 2)
    found = finding(Imputation((runs,)))
    cost, bias = found.claims
    assert "see=closed over see=all" in cost.figure
    assert bias.whose == "question 6"


def test_order_statistics_of_all_forecasters(bench: Bench) -> None:
    found = finding(Order(bench, (Sample("nodes16", 40, 10, 2),)))
    assert [len(plot.lines) for plot in found.plots] == [4, 3]
    assert len(found.sheets[0].rows) == 3
    assert all("mean absolute miss" in claim.figure for claim in found.claims)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("paper", list(PAPERS))
def test_every_experiment_of_every_paper_has_work_to_do(paper: str, full: bool, tmp_path: Path) -> None:
    experiments = PAPERS[paper].experiments(Bench(MAKERS, tmp_path), full)
    assert len({experiment.key for experiment in experiments}) == len(experiments) >= 4
    assert all(experiment.jobs({}) for experiment in experiments)
