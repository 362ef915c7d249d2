"""The parts of `make bench-random` on tiny input: that they measure what they say, not that the claims hold."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.random import __main__ as command
from benchmarks.random.play import Cluster, Rates, collapsed, play
from benchmarks.random.show import EDGES, claims_of, distribution, worst_first

from tailcut import names
from tailcut.bounds import best_deadline, best_static
from tailcut.engines.simulated import closing_at
from tailcut.study.source import Draw
from tailcut.table import Table

RATES = Rates(
    policy=9.9, static=10.0, deadline=8.0, waiting=5.0, clairvoyant=11.0, by_blocks=None, collapsed=()
)
FINE = Cluster(5000, 8, "eight workers", replace(RATES, by_blocks=0.97), RATES)


def test_seeds_are_single_numbers_and_ranges() -> None:
    assert command.seeds_of("5000-5099") == list(range(5000, 5100))
    assert command.seeds_of("3,0-2,1") == [0, 1, 2, 3]
    for text in ("", "1-", "a", "1,,2", "-1"):
        with pytest.raises(argparse.ArgumentTypeError, match="is no seed and no range"):
            command.seeds_of(text)


def test_claims_are_about_other_clusters_than_development() -> None:
    developed, claimed = map(command.seeds_of, (command.DEVELOPMENT_SEEDS, command.CLAIM_SEEDS))
    assert len(claimed) == 100
    assert not set(developed) & set(claimed)


def test_a_score_is_the_share_of_the_better_bound() -> None:
    assert RATES.score == pytest.approx(0.99)
    assert RATES.of_wait_all == pytest.approx(1.98)
    assert replace(RATES, waiting=11.0).score == pytest.approx(0.9)


def test_every_claim_can_fail_by_itself() -> None:
    low, lower = replace(RATES, policy=9.4), replace(RATES, policy=9.7)
    assert [claim.holds for claim in claims_of([FINE] * 3, "bayes")] == [True] * 4
    assert [claim.holds for claim in claims_of([replace(FINE, by_clock=lower)], "bayes")] == [
        False,
        True,
        True,
        True,
    ]
    mixed = (
        [FINE] * 30 + [replace(FINE, by_clock=low)] + [replace(FINE, by_clock=replace(RATES, policy=11.0))]
    )
    assert [claim.holds for claim in claims_of(mixed, "bayes")] == [True, False, True, True]
    assert [claim.holds for claim in claims_of([replace(FINE, by_rounds=lower)], "bayes")] == [
        True,
        True,
        False,
        True,
    ]
    early = replace(FINE, by_rounds=replace(RATES, collapsed=(7,)))
    assert [claim.holds for claim in claims_of([early], "bayes")] == [True, True, True, False]
    assert claims_of([], "bayes") == []


def test_the_distribution_counts_every_cluster_once() -> None:
    clusters = [replace(FINE, by_clock=replace(RATES, policy=10 * edge)) for edge in (0.5, *EDGES, 3.0)]
    rows = distribution(clusters)
    assert [clock for _, clock, _ in rows] == [1] + [1] * (len(EDGES) - 1) + [2]
    assert sum(table for _, _, table in rows) == len(clusters)
    assert worst_first(clusters)[0].clock_score == pytest.approx(0.5)


def test_a_round_is_closed_far_too_early_with_fewer_than_half_of_the_deadline_s_arrivals() -> None:
    # The deadline of 2 s takes 4 of 5 in every round; so does the clairvoyant, but for one round in which 1 is best.
    seconds = np.tile([1.0, 1.1, 1.2, 1.3, 9.0], (40, 1))
    seconds[7] = [0.01, 1.9, 1.9, 1.9, 1.9]
    table = Table.dense(seconds)
    closes = np.full(40, 1.3)
    closes[[3, 5, 7]] = [1.0, 1.1, 0.01]
    run = closing_at(table, closes)
    assert run.counts[[3, 5, 7]].tolist() == [1, 2, 1]
    assert collapsed(Draw(table), run, 2.0, 0.0, 0) == (3,)
    assert collapsed(Draw(table), run, 2.0, 0.0, 4) == ()


def test_a_cluster_without_states_has_the_same_scores_in_both_modes() -> None:
    # Seed 2: two workers, a uniform law and fixed levels.
    found = play(2, "backup:b=1", 40)
    assert found.by_rounds.policy == pytest.approx(found.by_clock.policy, rel=1e-12)
    assert found.by_rounds.static == pytest.approx(found.by_clock.static, rel=1e-12)
    assert found.by_rounds.clairvoyant == pytest.approx(found.by_clock.clairvoyant, rel=1e-12)
    assert found.by_rounds.deadline == pytest.approx(found.by_clock.deadline, rel=0.02)


def test_both_modes_are_measured_against_bounds_of_their_own() -> None:
    found = play(0, "wait-all", 40)
    assert found.table_score != found.clock_score
    draw = names.source("random:seed=0").draw(0, 40)
    assert found.by_rounds.static == best_static(draw.table, draw.overhead, skip=4).run.throughput(4)
    by_clock = names.source("random:seed=0:states=clock").draw_by_clock(0, 40)
    assert found.by_clock.deadline == best_deadline(by_clock.times, draw.overhead, skip=4).run.throughput(4)
    assert found.by_rounds.by_blocks is not None
    assert found.by_clock.by_blocks is None


def test_it_prints_tables_and_claims_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    arguments = [
        "--seeds",
        "2-3",
        "--policy",
        "wait-all",
        "--rounds",
        "30",
        "--jobs",
        "1",
        "--report",
        str(page),
    ]
    assert command.main(arguments) == 1
    printed = capsys.readouterr()
    for text in (
        "wait-all on random clusters, seeds 2 to 3",
        "worst by clock score",
        "distribution",
        "DOES NOT HOLD",
    ):
        assert text in printed.out
    # A line as each is finished.
    assert "seed 2: clock score" in printed.err
    written = page.read_text(encoding="utf-8")
    assert written.startswith("<!doctype html>")
    assert written.count("<svg") == 3
    assert "python -m benchmarks.random --seeds 2-3" in written
    before = page.read_bytes()
    command.main(arguments)
    assert page.read_bytes() == before


def test_what_cannot_be_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (["--seeds", "x"], ["--policy", "nobody"], ["--jobs", "0"], ["--report", str(tmp_path)]):
        with pytest.raises(SystemExit) as ended:
            command.main(arguments)
        assert ended.value.code == 2
        assert "error:" in capsys.readouterr().err
