"""The parts of `make bench-forecast` on tiny input: that they measure what they say, not that the claims hold."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import sections
from benchmarks.claims import Claim
from benchmarks.forecast import __main__ as command
from benchmarks.forecast import cost, coverage, drift, exploring, membership, sources, table, windows
from benchmarks.forecast.censored import LEVELS, CutIsMissing, closed_rounds, recovered
from benchmarks.forecast.pool import Job, spread
from benchmarks.forecast.shares import Shares
from benchmarks.forecast.table_claims import claims_of

from tailcut import names
from tailcut.bounds import clairvoyant
from tailcut.clusters import Iid, LogNormal
from tailcut.forecast import Recent, Truth
from tailcut.table import Table
from tailcut.traces import write_table


def lognormal(rounds: int, n: int, seed: int = 0) -> Table:
    return Iid(LogNormal(1.0, 0.3), n).sample(rounds, np.random.default_rng(seed)).table


def test_every_run_time_of_a_closed_round_is_told_once() -> None:
    whole = lognormal(40, 50)
    finishing: set[int] = set()
    for row, taught in enumerate(closed_rounds(whole, 0.2, np.random.default_rng(1))):
        shown = taught[-1]
        reported = taught[0] if len(taught) == 2 else None
        assert (set(reported.workers.tolist()) if reported else set()) == finishing
        if reported:
            assert reported.late
            np.testing.assert_array_equal(reported.seconds, whole.seconds[row - 1, reported.workers])
        assert not finishing & set(shown.workers.tolist())
        free = 50 - len(finishing)
        assert shown.observed.sum() == math.ceil(0.7 * free)
        assert len(np.unique(shown.seconds[~shown.observed])) <= 1
        finishing = set(range(50)) - finishing - set(shown.workers.tolist())


def test_the_true_law_recovers_every_percentile() -> None:
    cluster = Iid(LogNormal(1.0, 0.3), 100)
    whole = cluster.sample(120, np.random.default_rng(0)).table
    truth = Truth(cluster.law, np.zeros((120, 0)))
    np.testing.assert_allclose(recovered(whole, truth, 0.0, 100, 0), 1.0, atol=0.03)


def test_cut_taken_for_missing_loses_the_tail() -> None:
    off = recovered(lognormal(60, 100), CutIsMissing(Recent()), 0.0, 30, 0)
    assert len(off) == len(LEVELS)
    assert (off < 0.8).all()


def test_a_clairvoyant_has_all_of_its_own_share() -> None:
    whole = lognormal(150, 20)
    run = clairvoyant(replace(whole, seconds=whole.seconds[:40], observed=whole.observed[:40])).run
    before = windows.Part.before(40, 10, run, whole)
    assert windows.share([before]) == pytest.approx(1.0)
    wait_for_all = windows.Part.since(30, np.full(150, 20, dtype=np.int64), whole.seconds.max(axis=1), whole)
    assert len(wait_for_all.best_counts) == len(wait_for_all.counts) == 120
    shares = windows.window_shares([wait_for_all, wait_for_all], 60)
    assert shares.shape == (2,)
    assert (shares < 0.95).all()


def test_back_means_two_windows_in_a_row() -> None:
    shares = np.array([0.5, 0.99, 0.6, 0.97, 0.98, 0.99])
    assert drift.rounds_back(shares, steady=0.985) == 40.0
    assert drift.rounds_back(np.array([0.5, 0.99, 0.6]), steady=0.985) == math.inf


def test_forty_leave_and_twenty_join() -> None:
    present = ~np.isnan(membership.changing(0, 10, 5).seconds)
    assert present.sum(axis=1).tolist() == [158] * 10 + [138] * 5
    assert (present[-1] & ~present[0]).sum() == 20


def test_claims_say_where_they_fail() -> None:
    ours = dict.fromkeys(("bayes:deep=true", "bayes:deep=false", "bdsgd", "best-static", "elfving"), 0.9)
    others = {"wait-all": 0.5, "stopping": 0.89, "empirical": 0.89, "best-deadline": 0.95, "backup": 0.95}
    every = ours | others
    one = Shares("nodes16", 0, 400, 40, every, dict.fromkeys(every, 0.999), {}, {})
    claims = {claim.text: claim for claim in claims_of({"nodes16": [one]})}
    held = [claim.holds for claim in claims.values()]
    informed, *means, hindsight, above_elfving, above_backup = held
    assert informed
    assert means == [True, False, False, False]
    assert not hindsight
    assert above_elfving
    assert not above_backup
    assert "nodes16" in next(claim.found for text, claim in claims.items() if "best-static" in text)


def test_the_table_section() -> None:
    claims = table.main(1, 30, ["demo8", sources.EQUAL], epochs=1, processes=0)
    by_text = {claim.text: claim for claim in claims}
    assert next(claim.holds for text, claim in by_text.items() if "wait-all" in text)
    assert any("dynamic programming" in text for text in by_text)


def test_the_sections_about_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift, "SAMPLES", 1)
    drift_claims = drift.main(1, 12, 20, ["log-normal, sigma .2, then .6"], epochs=1, processes=0)
    member_claims = membership.main(1, 12, 12, processes=0)
    assert len(drift_claims) == len(member_claims) == 1


def test_the_sections_about_cost_and_exploring() -> None:
    exploring.main(1, 25, ["demo8"], processes=0)
    claims = cost.main(((16, 12, 1000.0),), fit_rounds=30, epochs=1)
    assert claims[0].holds


def test_the_section_about_coverage(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    write_table(names.source("nodes16").draw(0, 60).table, path)
    claims = coverage.main([str(path)], processes=0)
    assert len(claims) == len(coverage.SEES)


def test_jobs_run_in_other_processes() -> None:
    done = spread("roots", [Job(square, math.sqrt, (square,)) for square in (4.0, 9.0)], processes=2)
    assert done.or_stop() == {4.0: 2.0, 9.0: 3.0}


def test_the_number_of_processes_reaches_every_section(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []

    def measured(seeds: int, jobs: int | None = None) -> list[Claim]:
        told.append((seeds, jobs))
        return [Claim("a", "b", True)]

    for name in command.SECTIONS:
        monkeypatch.setitem(command.SECTIONS, name, measured)
    assert command.main(["3", "table", "drift", "--jobs", "2"]) == 0
    assert command.main([]) == 0
    assert told == [(3, 2)] * 2 + [(command.SEEDS, None)] * len(command.SECTIONS)


def test_the_command_judges_all_claims(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(command.SECTIONS, "table", lambda seeds: [Claim("a", f"{seeds}", True)])
    monkeypatch.setitem(command.SECTIONS, "drift", lambda seeds: [Claim("b", f"{seeds}", False)])
    assert sections.run(["2", "table"], command.SECTIONS, 5) == 0
    assert sections.run(["table", "drift"], command.SECTIONS, 5) == 1
    out = capsys.readouterr().out
    assert "holds: a; found 2" in out
    assert "DOES NOT HOLD: b; found 5" in out
    assert sections.run(["drft"], command.SECTIONS, 5) == 2
