"""The parts of `make bench-anywhere` on tiny input: that they measure what they say, not that the claims hold."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.anywhere import __main__ as command
from benchmarks.anywhere import cost, exact, few, laws, named, shocks, sizes
from benchmarks.anywhere.draws import LAWS, RunTimeLaw
from benchmarks.anywhere.options import CLAIM_SEEDS, Options
from benchmarks.anywhere.play import Case, Rates, geometric_mean, hindsight, play, rates_of, spread
from benchmarks.claims import Claim

from tailcut import names
from tailcut.study.parallel import Job
from tailcut.table import Table

QUICK = Options(seeds=(0,), jobs=1, policies=("wait-all", "stopping"), rounds=20)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.letter)
def test_every_law_fills_its_table_and_repeats_itself(law: RunTimeLaw) -> None:
    table = law.table(7, 5, 3)
    assert table.seconds.shape == (7, 5)
    assert (table.seconds > 0).all()
    assert np.isfinite(table.seconds).all()
    np.testing.assert_array_equal(table.seconds, law.table(7, 5, 3).seconds)
    if law.letter != "l":
        assert (table.seconds != law.table(7, 5, 4).seconds).any()


def drawn(letter: str, rounds: int = 4000, n: int = 6) -> np.ndarray:
    return next(law for law in LAWS if law.letter == letter).table(rounds, n, 0).seconds


def test_laws_have_the_moments_they_name() -> None:
    common = drawn("a")[:, 0]
    assert common.mean() == pytest.approx(1.0, abs=0.03)
    assert common.var() == pytest.approx(1 / 8, rel=0.1)
    assert (drawn("b") / drawn("b").min(axis=1, keepdims=True) > 4.0).mean() == pytest.approx(0.05, abs=0.01)
    assert set(np.unique(drawn("d"))) == {1.0, 2.0}
    np.testing.assert_array_equal(drawn("e") % 0.25, 0.0)
    assert (drawn("f") == 4.0).mean() == pytest.approx(0.05, abs=0.01)
    logs = np.log(drawn("j").mean(axis=1))
    assert np.corrcoef(logs[1:], logs[:-1])[0, 1] == pytest.approx(0.9, abs=0.03)
    assert logs.std() == pytest.approx(0.2, rel=0.15)
    long = drawn("k") > 2.0
    assert (long.all(axis=1) | ~long.any(axis=1)).all()
    assert long.mean() == pytest.approx(0.4, abs=0.03)


@pytest.mark.parametrize("k", [1, 3])
def test_exactly_so_many_sleep(k: int) -> None:
    random = few.table("random", 50, 4, k, 0).seconds > 2.0
    assert (random.sum(axis=1) == k).all()
    assert (random != random[0]).any()
    persistent = few.table("persistent", 50, 4, k, 0).seconds > 2.0
    assert (persistent == persistent[0]).all()
    assert persistent[0].sum() == k


def test_every_number_of_sleepers_leaves_somebody_awake() -> None:
    assert [few.sleeper_counts("random", n) for n in few.SIZES] == [[1], [1, 2], [1, 2, 3], [1, 4, 7]]
    assert few.sleeper_counts("spikes", 4) == [0]


def rate_by_enumeration(law: exact.Atoms, n: int) -> float:
    """The best rate over all rules that know how many are in at each instant; arrivals of an instant come together."""
    last = len(law.times) - 1
    states = list(itertools.product(range(last), range(1, n)))
    outcomes = list(itertools.product(range(last + 1), repeat=n))
    best = 0.0
    for closes in itertools.product([False, True], repeat=len(states)):
        rule = dict(zip(states, closes, strict=True))
        gradients = seconds = 0.0
        for outcome in outcomes:
            chance = float(np.prod([law.chances[k] for k in outcome]))
            for k in range(last + 1):
                count = sum(arrival <= k for arrival in outcome)
                if count == n or (count and rule.get((k, count), k == last)):
                    gradients += chance * count
                    seconds += chance * law.times[k]
                    break
        best = max(best, gradients / seconds)
    return best


@pytest.mark.parametrize(
    ("law", "n"),
    [
        (exact.LAWS[0], 2),
        (exact.LAWS[0], 4),
        (exact.LAWS[1], 3),
        (exact.LAWS[2], 3),
        (exact.LAWS[3], 3),
        (exact.Atoms("four", (1.0, 1.2, 2.0, 7.0), (0.2, 0.2, 0.3, 0.3)), 2),
    ],
    ids=lambda value: value.about if isinstance(value, exact.Atoms) else str(value),
)
def test_the_optimum_is_that_of_trying_every_rule(law: exact.Atoms, n: int) -> None:
    assert law.optimum(n).rate == pytest.approx(rate_by_enumeration(law, n), rel=1e-12)


def test_the_optimal_rule_takes_all_that_arrive_at_one_instant() -> None:
    counts, elapsed = exact.LAWS[1].optimum(4).run(np.array([[1.0, 1.0, 1.0, 5.0], [5.0, 5.0, 5.0, 5.0]]))
    assert counts.tolist() == [3, 4]
    assert elapsed.tolist() == [1.0, 5.0]


@pytest.mark.parametrize("law", exact.LAWS, ids=lambda law: law.about)
def test_atoms_agree_with_the_cluster_that_informed_knows(law: exact.Atoms) -> None:
    assert sum(law.chances) == pytest.approx(1.0, abs=1e-12)
    seconds = law.seconds(2000, 4, 0)
    assert set(np.unique(seconds)) <= set(law.times)
    survival = law.cluster(4).marginal.survival(np.array(law.times))
    np.testing.assert_allclose(survival, 1.0 - np.cumsum(law.chances), atol=1e-12)
    np.testing.assert_allclose((seconds > law.times[0]).mean(), survival[0], atol=0.02)


def test_rates_are_after_the_warm_up_and_in_the_mode_of_the_case() -> None:
    seconds = np.array([[1.0, 10.0]] * 5 + [[1.0, 1.5]] * 45)
    rates = rates_of(Case("two", 2, 0, lambda: Table.dense(seconds)), ("wait-all",))
    assert rates.wait_all == rates.policies["wait-all"] == pytest.approx(2 / 1.5)
    assert rates.best == pytest.approx(2 / 1.5)
    assert rates.share("wait-all") == rates.of_wait_all("wait-all") == pytest.approx(1.0)
    paid = rates_of(Case("two", 2, 0, lambda: Table.dense(seconds), overhead_share=0.5), ("wait-all",))
    assert paid.wait_all == pytest.approx(2 / (1.5 + 0.5 * float(np.median(seconds))))
    late = Case("two", 2, 0, lambda: Table.dense(seconds), late_finish=True, skip=0)
    bounds = hindsight(Table.dense(seconds), late_finish=True)
    assert (lambda r: (r.static, r.deadline, r.wait_all))(rates_of(late, ("wait-all",))) == bounds


def rates(ours: float, wait_all: float, static: float = 1.0) -> Rates:
    return Rates({"bayes": ours}, static, 0.9, wait_all, 1.1)


def case(group: str = LAWS[0].label, n: int = 6, seed: int = 0) -> Case:
    return Case(group, n, seed, lambda: Table.dense(np.ones((1, n))))


def test_claims_about_laws_say_where_they_fail() -> None:
    mode = laws.MODES[0]
    good = {case(): rates(1.0, 0.5), case(n=32): rates(0.992, 0.999)}
    assert [claim.holds for claim in laws.claims_of(mode, good, "bayes")] == [True, True, True]
    bad = {case(): rates(0.96, 0.5), case(n=32): rates(0.985, 0.999)}
    claims = laws.claims_of(mode, bad, "bayes")
    assert [claim.holds for claim in claims] == [False, False, False]
    assert "n=6" in claims[1].found
    assert "n=32" in claims[2].found
    far_from_waiting = {case(): rates(1.0, 0.99)}
    assert len(laws.claims_of(mode, far_from_waiting, "bayes")) == 2
    assert laws.claims_of(mode, {}, "bayes") == []


def test_claims_of_the_other_sections() -> None:
    assert few.claims_of({case(): rates(0.96, 0.5)}, "bayes")[0].holds
    assert not few.claims_of({case(): rates(0.94, 0.5)}, "bayes")[0].holds
    keys = [("law", 4, seed) for seed in (1, 2)]
    assert exact.claims_of(dict(zip(keys, ({"bayes": 0.97}, {"bayes": 0.992}), strict=True)), "bayes")[
        0
    ].holds
    assert not exact.claims_of({keys[0]: {"bayes": 0.97}}, "bayes")[0].holds
    assert not shocks.claims_of({(shocks.KINDS[0], 8, 0): {"bayes": 0.94}}, "bayes")[0].holds
    pair = {case("xeon158" + sizes.WITH): rates(1.0, 0.5), case("xeon158" + sizes.WITHOUT): rates(0.99, 0.5)}
    claims = sizes.claims_of({case("one group"): rates(0.96, 0.5), **pair}, "bayes")
    assert [claim.holds for claim in claims] == [True, False]
    one = {"bayes": 0.985, "informed": 1.0, "clairvoyant": 1.0, "wait-all": 0.5}
    found = [named.Found({**one, "best-static": 0.99, "best-deadline": 0.99})]
    assert [claim.holds for claim in named.claims_of({"demo8": found}, "bayes")] == [False, True]


def test_a_shock_is_where_it_should_be() -> None:
    slower, faster = (shocks.shock(kind, 100, 8, 0) for kind in shocks.KINDS[:2])
    assert np.median(slower.table.seconds[50:]) > 100 * np.median(slower.table.seconds[:50])
    assert np.median(faster.table.seconds[50:]) < 0.01 * np.median(faster.table.seconds[:50])
    flashes = shocks.shock(shocks.KINDS[2], 100, 8, 0)
    assert flashes.segments[1].tolist() == [39, 79]
    assert flashes.table.seconds[39].min() > 10.0
    silent, out = (shocks.shock(kind, 100, 8, 0).table for kind in shocks.KINDS[3:])
    assert silent.observed[:50].all()
    assert ((~silent.observed[50:]).sum(axis=1) == 2).all()
    assert not np.isnan(silent.seconds).any()
    assert np.isnan(out.seconds[51:]).sum(axis=1).tolist() == [2] * 49
    assert not np.isnan(out.seconds[50]).any()


@pytest.mark.parametrize("kind", shocks.KINDS)
def test_segments_cover_every_round_once(kind: str) -> None:
    shocked = shocks.shock(kind, 80, 8, 1)
    assert sorted(np.concatenate(shocked.segments).tolist()) == list(range(80))


def test_segments_count_by_rounds_and_each_by_its_own_bound() -> None:
    seconds = np.ones((40, 2))
    seconds[20:] = 1000.0
    seconds[20:, 1] = 4000.0
    halves = (np.arange(20), np.arange(20, 40))
    shocked = shocks.Shock(Table.dense(seconds), halves)
    waits = play(shocked.table, names.entrant("wait-all"))
    # In the second half one gradient a round is twice as good as two; the warm-up leaves 16 rounds of the first.
    assert shocks.share_of(waits, shocked) == pytest.approx((16 * 1.0 + 20 * 0.5) / 36)
    best = replace(waits, counts=np.repeat([2, 1], 20), elapsed=np.repeat([1.0, 1000.0], 20))
    assert shocks.share_of(best, shocked) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("section", "only", "claims"),
    [
        (laws.main, ("n=6", "a:"), 6),
        (sizes.main, ("n=10 ",), 1),
        (shocks.main, ("n=8",), 1),
        (cost.main, ("xeon158", "stopping"), 1),
        (exact.main, ("10 % 9",), 1),
        (named.main, ("demo8",), 2),
        (named.main, ("coverage l:",), 2),
    ],
)
def test_the_sections(
    section: command.AnywhereSection, only: tuple[str, ...], claims: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TAILCUT_DATA", raising=False)
    found = section(replace(QUICK, only=only))
    assert len(found) >= claims
    assert all(isinstance(claim, Claim) for claim in found)


def test_the_sections_whose_first_rounds_do_not_count() -> None:
    options = replace(QUICK, rounds=few.BEGIN + 10, only=("n=2 ",))
    assert [claim.text.split(":")[0] for claim in few.main(options)] == ["few"]
    assert [claim.text.split(":")[0] for claim in exact.main(replace(options, only=("n=4", "1 or 2 s")))] == [
        "exact"
    ]


def test_a_section_without_cases_claims_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = replace(QUICK, only=("no such case",))
    for section in (laws.main, few.main, exact.main, sizes.main, shocks.main, cost.main):
        assert section(nothing) == []
    assert capsys.readouterr().out == ""


def test_jobs_run_in_other_processes_and_keep_their_order() -> None:
    jobs = [Job(value, abs, (value,)) for value in (-4, 9, -1)]
    done = spread("absolute values", jobs, 2)
    assert list(done.results.items()) == [(-4, 4), (9, 9), (-1, 1)]


def interrupt() -> None:
    raise KeyboardInterrupt


def test_what_had_ended_is_kept() -> None:
    done = spread("interrupted", [Job("a", abs, (-1,)), Job("b", interrupt)], 1)
    assert done.results == {"a": 1}
    with pytest.raises(KeyboardInterrupt):
        done.or_stop()


def test_the_geometric_mean() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert np.isnan(geometric_mean([]))


def test_the_command_reads_its_arguments_and_judges_all_claims(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.options_of([])[1] == Options()
    assert Options().seeds == CLAIM_SEEDS
    sections, options = command.options_of(
        ["laws", "few", "--seeds", "0,1", "--jobs", "2", "--policies", "bayes,stopping", "--only", "d:,n=6"]
    )
    assert sections == ["laws", "few"]
    assert options == Options((0, 1), 2, ("bayes", "stopping"), ("d:", "n=6"))

    def section(options: Options) -> list[Claim]:
        return [Claim("a", f"seed {seed}", seed < 2) for seed in options.seeds]

    assert command.main(["x", "--seeds", "0,1"], {"x": section}) == 0
    assert command.main(["x", "--seeds", "0,2"], {"x": section}) == 1
    out = capsys.readouterr().out
    assert "holds: a; found seed 0" in out
    assert "DOES NOT HOLD: a; found seed 2" in out
    assert command.main(["y"], {"x": section}) == 2


def test_traces_are_played_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tailcut.traces import write_table

    (tmp_path / "traces").mkdir()
    write_table(LAWS[6].table(30, 4, 0), tmp_path / "traces" / "mine.npz")
    monkeypatch.setenv("TAILCUT_DATA", str(tmp_path))
    claims = named.main(replace(QUICK, only=("mine",), rounds=None))
    assert claims == []
    assert named.rounds_of(str(tmp_path / "traces" / "mine.npz"), replace(QUICK, rounds=None)) is None
