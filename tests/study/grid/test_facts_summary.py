"""Facts of made-up runs whose answers are known."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.study.grid.study_journals import HEAD, INF, points, trained, write, write_arm, write_study

from tailcut.study.grid.collect import collect
from tailcut.study.grid.facts import ArmFacts, StudyFacts
from tailcut.study.grid.statics import Against, Reach, held_against, judged, reference_of
from tailcut.study.grid.summary import study_facts
from tailcut.study.statistics import Interval


def facts(folder: Path) -> StudyFacts:
    return study_facts(collect(folder))


def arms(folder: Path) -> dict[str, ArmFacts]:
    (case,) = facts(folder).cases
    return {each.arm: each for each in case.arms}


def test_times_over_seeds(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [40.0, 50.0, 60.0])
    time = arms(tmp_path)["bayes"].time
    assert (time.mean, time.best, time.worst, time.at_least) == (50.0, 40.0, 60.0, 50.0)
    # 4.303 standard errors of three values.
    assert (time.interval.low, time.interval.high) == (
        pytest.approx(25.16, abs=0.01),
        pytest.approx(74.84, abs=0.01),
    )


def test_figures_of_a_run(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [40.0, 60.0], parameters=1000)
    found = arms(tmp_path)["bayes"]
    assert (found.runs, found.reached, found.diverged, found.seeds) == (2, 2, 0, (0, 1))
    assert (found.updates, found.cutoff, found.idle, found.staleness) == (50.0, 3.0, 0.25, 0.5)
    # 150 gradients were accepted and 10 came too late, each of 1000 numbers of four bytes.
    assert (found.bytes_sent, found.bytes_in_vain) == (640_000.0, 40_000.0)
    assert (found.late, found.dropped) == (10.0, 40.0)
    assert found.least_served == pytest.approx(4 * 20 / 150)
    assert found.shares == pytest.approx(np.array([20, 40, 45, 45]) * 4 / 150)
    assert found.final == {"loss": pytest.approx(0.5), "accuracy": pytest.approx(0.96)}


def test_a_run_that_did_not_get_there_makes_the_mean_infinite_and_a_lower_bound(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [40.0, 60.0, INF])
    found = arms(tmp_path)["bayes"]
    assert (found.reached, found.runs) == (2, 3)
    assert (found.time.mean, found.time.best, found.time.worst) == (INF, 40.0, INF)
    assert found.time.at_least == pytest.approx((40.0 + 60.0 + 100.0) / 3)
    # The low end takes the last run as reaching its target at its end, after 100 s; no time is below 0.
    assert found.time.interval == Interval(0.0, INF)
    assert math.isnan(found.updates)


def test_of_a_run_that_diverged_there_is_no_lower_bound(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [40.0])
    write(tmp_path, replace(HEAD, seed=1), [], trained(3.0, [], ending="diverged"))
    (case,) = facts(tmp_path).cases
    assert case.arms[0].time.at_least == INF
    assert case.arms[0].time.interval == Interval(INF, INF)
    assert case.arms[0].diverged == 1
    assert "Runs whose loss was no number any more: `bayes` 1 of 2." in case.notes


def test_nothing_accepted_is_unknown_not_a_failure(tmp_path: Path) -> None:
    nothing: dict[str, Any] = {"accepted": np.zeros(4, int), "gradients": 0.0, "updates": 0}
    write(tmp_path, HEAD, [], trained(3.0, [], ending="diverged", **nothing))
    found = arms(tmp_path)["bayes"]
    assert math.isnan(found.least_served)
    assert math.isnan(found.cutoff)


def test_arms_are_held_against_the_static_one_of_their_rate_rule(tmp_path: Path) -> None:
    found = arms(write_study(tmp_path))
    assert list(found) == ["wait-all", "best static", "best static gain", "bayes", "bayes gain"]
    assert found["best static"].against is None
    assert found["best static gain"].against is None
    against = found["bayes"].against
    assert against is not None
    assert against.reference == "best static"
    assert against.ratios == pytest.approx((0.8, 0.8, 0.8))
    # Paired, equal ratios leave no doubt, however far the seeds lie apart.
    assert (against.interval.low, against.interval.high) == pytest.approx((0.8, 0.8))
    assert against.verdict == "sooner"
    gain = found["bayes gain"].against
    assert gain is not None
    assert (gain.reference, gain.mean, gain.verdict) == ("best static gain", pytest.approx(1.5), "worse")


def test_without_the_study_nothing_is_held_against_anything(tmp_path: Path) -> None:
    (write_study(tmp_path) / "study.toml").unlink()
    found = arms(tmp_path)
    assert all(each.against is None for each in found.values())
    assert list(found) == sorted(found)


@pytest.mark.parametrize(
    ("arm", "rule", "arms", "wanted"),
    [
        ("bayes", "linear", ["bayes", "static"], "static"),
        ("bayes", "gain", ["bayes", "static"], "static"),
        ("bayes", "gain", ["bayes", "static", "static gain"], "static gain"),
        ("bayes", "linear", ["bayes", "static", "static gain"], "static"),
        ("static", "linear", ["bayes", "static"], None),
        ("static gain", "gain", ["static", "static gain"], None),
        ("static electricity", "linear", ["static", "static electricity"], "static"),
        ("bayes", "linear", ["bayes"], None),
    ],
)
def test_which_static_arm_belongs_to_which(arm: str, rule: str, arms: list[str], wanted: str | None) -> None:
    assert reference_of(arm, rule, "static", arms) == wanted
    assert reference_of(arm, rule, "", arms) is None


def test_ratios_are_paired_by_seed_and_count_what_was_not_reached() -> None:
    mine = {seed: Reach(s, 40.0) for seed, s in {0: 10.0, 1: INF, 2: 20.0, 3: INF, 7: 1.0}.items()}
    other = {seed: Reach(s, 40.0) for seed, s in {0: 20.0, 1: 10.0, 2: INF, 3: INF, 9: 1.0}.items()}
    found = held_against("static", mine, other)
    assert found.seeds == (0, 1, 2)
    assert found.ratios == (0.5, INF, 0.0)
    assert found.undecided == 1
    assert found.mean == INF
    assert found.least == pytest.approx((math.log(0.5), math.log(4.0), -INF))
    assert found.most == pytest.approx((math.log(0.5), INF, math.log(0.5)))


def test_with_no_seed_in_common_nothing_is_shown() -> None:
    (found,) = judged([held_against("static", {0: Reach(1.0, 1.0)}, {1: Reach(1.0, 1.0)})])
    assert math.isnan(found.mean)
    assert found.verdict == "not shown"


@pytest.mark.parametrize(
    ("sooner", "not_worse", "worse", "verdict"),
    [
        (0.025, 0.001, 1.0, "sooner"),
        (0.026, 0.025, 1.0, "not worse"),
        (0.026, 0.026, 0.9, "not shown"),
        (1.0, 1.0, 0.026, "not shown"),
        (1.0, 1.0, 0.025, "worse"),
    ],
)
def test_verdicts(sooner: float, not_worse: float, worse: float, verdict: str) -> None:
    found = Against(
        "static", (), (), 0, 1.0, Interval(0.9, 1.1), sooner=sooner, not_worse=not_worse, worse=worse
    )
    assert found.verdict == verdict


def test_one_seed_shows_nothing_and_says_so(tmp_path: Path) -> None:
    (case,) = facts(write_study(tmp_path, seeds=1)).cases
    bayes = next(each for each in case.arms if each.arm == "bayes")
    assert bayes.against is not None
    assert (bayes.against.mean, bayes.against.verdict) == (pytest.approx(0.8), "not shown")
    assert math.isnan(bayes.time.interval.low)
    assert any(note.startswith("One seed each") for note in case.notes)


def test_few_seeds_are_noted(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [10.0, 11.0, 12.0, 13.0])
    assert facts(tmp_path).cases[0].notes == ("Few seeds: take 10 or more where a verdict matters.",)
    write_arm(tmp_path, "bayes", [10.0 + seed for seed in range(10)])
    assert facts(tmp_path).cases[0].notes == ()


def test_verdicts_by_t_are_noted(tmp_path: Path) -> None:
    (case,) = facts(write_study(tmp_path, seeds=5)).cases
    assert any("by t tests" in note for note in case.notes)
    (case,) = facts(write_study(tmp_path / "more", seeds=10)).cases
    assert {each.against.test for each in case.arms if each.against} == {"permutation"}
    assert case.notes == ()


def test_an_arm_more_changes_no_other_interval(tmp_path: Path) -> None:
    times = list(np.random.default_rng(0).lognormal(3, 0.3, 7))
    write_arm(tmp_path, "b", times)
    alone = arms(tmp_path)["b"].time.interval
    write_arm(tmp_path, "a", [9.0, 8.0])
    assert arms(tmp_path)["b"].time.interval == alone


def test_what_is_missing_is_noted(tmp_path: Path) -> None:
    folder = write_study(tmp_path, seeds=3)
    (folder / "runs" / "digits" / "demo8" / "bayes" / "2.jsonl").unlink()
    for path in (folder / "runs" / "digits" / "demo8" / "wait-all").iterdir():
        path.unlink()
    (case,) = facts(folder).cases
    assert "Of 3 runs each these arms have fewer that are finished: `bayes` 2." in case.notes
    assert "No run is finished of `wait-all`." in case.notes


def test_runs_of_different_tunings_are_noted(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [10.0])
    seen = points(12.0)
    write(tmp_path, replace(HEAD, seed=1, rate=0.3), seen, trained(12.0, seen))
    (case,) = facts(tmp_path).cases
    assert any("`bayes` differ in policy or learning rate" in note for note in case.notes)


def test_a_rate_at_the_edge_of_its_grid_is_noted(tmp_path: Path) -> None:
    folder = write_study(tmp_path, seeds=2)
    path = folder / "study.toml"
    path.write_text("rates = [0.05, 0.1]\n" + path.read_text())
    (case,) = facts(folder).cases
    assert any("`bayes` 0.1 (highest)" in note for note in case.notes)
    path.write_text(path.read_text().replace("[0.05, 0.1]", "[0.05, 0.1, 0.2]"))
    (case,) = facts(folder).cases
    assert not any("tuning chose" in note for note in case.notes)


def test_runs_with_another_target_are_told_apart(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [10.0, 11.0])
    seen = points(50.0)
    write(tmp_path, replace(HEAD, seed=2, value=0.98), seen, trained(50.0, seen))
    found = facts(tmp_path)
    assert [case.arms[0].runs for case in found.cases] == [2, 1]
    assert found.notes[-1].startswith("Runs of digits on demo8 differ in their target")


def test_cases_come_in_the_order_of_the_study(tmp_path: Path) -> None:
    folder = write_study(tmp_path)
    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(text.replace('["demo8"]', '["zeta", "demo8", "alpha"]'))
    for cluster in ("alpha", "zeta", "other"):
        write_arm(folder, "bayes", [5.0], cluster=cluster)
    clusters = [case.setting.cluster for case in facts(folder).cases]
    assert clusters == ["zeta", "demo8", "alpha", "other"]
