"""Comparisons whose figures were worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tailcut.acceptance import ASYNCHRONOUS
from tailcut.clusters import Deterministic, Iid, LogNormal
from tailcut.errors import InputError, ParameterError
from tailcut.forecast import NoForecast
from tailcut.names import entrant, source
from tailcut.policy import Policy
from tailcut.rules import Backup
from tailcut.study.compare import BOUNDS, Setting, compare, steps
from tailcut.study.contest import Entrant, contest
from tailcut.study.facts import PolicyFacts, SourceFacts, Spread
from tailcut.study.source import Recorded, Sampled
from tailcut.table import Table

# Three rounds of three workers. Waiting for all takes 4 + 5 + 8 s, for two 1.5 + 2.5 + 3 s, for one 1 + 2 + 1 s.
BY_HAND = np.array([[1.0, 1.5, 4.0], [2.0, 5.0, 2.5], [1.0, 3.0, 8.0]])


def _recorded(seconds: np.ndarray, observed: np.ndarray | None = None) -> Recorded:
    table = Table.dense(seconds)
    if observed is not None:
        table = Table(seconds, observed, table.names, table.nodes)
    return Recorded("table", "by hand", table)


def _compared(
    seconds: np.ndarray, *specs: str, **setting: object
) -> tuple[SourceFacts, dict[str, PolicyFacts]]:
    chosen = Setting(**setting)  # type: ignore[arg-type]
    facts = compare(_recorded(seconds), [entrant(spec) for spec in specs], chosen)
    return facts, {one.policy: one for one in facts.policies}


def _exactly(value: float) -> Spread:
    return Spread(*[pytest.approx(value)] * 3)


def test_figures_of_three_rounds_and_three_workers() -> None:
    facts, by_name = _compared(BY_HAND, "wait-all", "backup:c=2", "backup:c=1")
    assert (facts.workers, facts.rounds, facts.warmup, facts.seeds) == (3, 3, 0, 1)
    assert (facts.late, facts.overhead) == ("abandon", 0.0)
    assert list(by_name) == ["wait-all", "backup:c=2", "backup:c=1", *BOUNDS[1:]]

    rates = {name: one.throughput for name, one in by_name.items()}
    assert rates["wait-all"] == _exactly(9 / 17)
    assert rates["backup:c=2"] == _exactly(6 / 7)
    assert rates["backup:c=1"] == _exactly(3 / 4)
    # Two, two and one of the workers in 1.5, 2.5 and 1 s.
    assert rates["clairvoyant"] == rates["clairvoyant-whole"] == _exactly(5 / 5)
    assert rates["best-static"] == _exactly(6 / 7)
    # Closing after 1.5 s: two in time, the first at 2 s, one in time.
    assert rates["best-deadline"] == _exactly(4 / (1.5 + 2 + 1.5))

    two = by_name["backup:c=2"]
    assert two.of_clairvoyant == two.of_clairvoyant_all == _exactly(6 / 7)
    assert two.of_best_static == _exactly(1)
    assert two.of_best_deadline == _exactly(6 / 7 / 0.8)
    assert two.of_informed is None
    assert (two.mean_cutoff, by_name["clairvoyant"].mean_cutoff) == (2, pytest.approx(5 / 3))


def test_idling_of_three_rounds_and_three_workers() -> None:
    facts, by_name = _compared(BY_HAND, "wait-all", "backup:c=2", "backup:c=1")
    # Workers that have arrived wait for the close: 3 + 2.5, 3 + 2.5 and 7 + 5 s of three times 17 s.
    assert by_name["wait-all"].idle == facts.idle_before == pytest.approx(23 / 51)
    # Cut workers did not wait: 0.5, 0.5 and 2 s of three times 7 s.
    assert by_name["backup:c=2"].idle == pytest.approx(3 / 21)
    assert by_name["backup:c=1"].idle == 0


def test_who_is_served_in_three_rounds_and_three_workers() -> None:
    _, by_name = _compared(BY_HAND, "wait-all", "backup:c=2", "backup:c=1")
    assert by_name["wait-all"].least_served == 1
    # Worker 0 is in three times, 1 twice, 2 once: a third over a mean of two thirds.
    assert by_name["backup:c=2"].least_served == pytest.approx(0.5)
    assert by_name["backup:c=1"].least_served == 0
    # In order of run time, 1 1 1.5 2 2.5 3 | 4 5 8; for the tenth decile there is nothing left.
    assert by_name["backup:c=2"].deciles[:9] == (1, 1, 1, 1, 1, 1, 0, 0, 0)
    assert by_name["wait-all"].deciles[:9] == (1,) * 9
    assert all(math.isnan(one.deciles[9]) for one in by_name.values())


def test_round_by_round_records_of_the_first_seed() -> None:
    facts, _ = _compared(BY_HAND, "wait-all", "backup:c=2")
    assert facts.seconds is not None
    assert np.array_equal(facts.seconds, BY_HAND)
    assert facts.closes["wait-all"].tolist() == [4, 5, 8]
    assert facts.closes["backup:c=2"].tolist() == [1.5, 2.5, 3]
    assert facts.cutoffs["backup:c=2"].tolist() == [2, 2, 2]
    assert facts.closes["clairvoyant"].tolist() == [1.5, 2.5, 1]
    assert facts.cutoffs["clairvoyant"].tolist() == [2, 2, 1]
    assert facts.closes["best-deadline"].tolist() == [1.5, 2, 1.5]


def test_overhead_is_paid_in_every_round() -> None:
    facts, by_name = _compared(BY_HAND, "wait-all", "backup:c=2", overhead=1.0)
    assert facts.overhead == 1.0
    assert by_name["wait-all"].throughput == _exactly(9 / 20)
    assert by_name["wait-all"].idle == facts.idle_before == pytest.approx(23 / 60)
    assert by_name["backup:c=2"].throughput == _exactly(6 / 10)
    assert by_name["backup:c=2"].idle == pytest.approx(3 / 30)


def test_warm_up_rounds_are_left_out_of_all_figures_but_one() -> None:
    facts, by_name = _compared(BY_HAND, "wait-all", "backup:c=2", warmup=1)
    assert facts.warmup == 1
    assert by_name["wait-all"].throughput == _exactly(6 / 13)
    assert by_name["wait-all"].idle == facts.idle_before == pytest.approx((5.5 + 12) / 39)
    two = by_name["backup:c=2"]
    assert two.throughput == _exactly(4 / 5.5)
    assert by_name["clairvoyant"].throughput == _exactly(3 / 3.5)
    assert two.of_clairvoyant == _exactly(4 / 5.5 / (3 / 3.5))
    assert two.of_clairvoyant_all == _exactly(6 / 7)
    # Left are 1 2 2.5 3 | 5 8: 1, 2 and 2.5 by workers 0 and 2, 3 by worker 1.
    assert two.deciles[:6] == (1, 1, 1, 1, 0, 0)
    assert two.least_served == pytest.approx((1 / 2) / (2 / 3))
    # The static bound is chosen on the rounds that count: one, two or three workers.
    assert by_name["best-static"].throughput == _exactly(max(2 / 3, 4 / 5.5, 6 / 13))


@pytest.mark.parametrize("late_finish", [False, True])
def test_equal_run_times_leave_nothing_to_gain(late_finish: bool) -> None:
    facts, by_name = _compared(np.full((40, 5), 2.0), "wait-all", "backup:share=1", late_finish=late_finish)
    assert facts.idle_before == 0
    for one in by_name.values():
        assert one.throughput == _exactly(5 / 2)
        assert one.idle == 0
        assert one.least_served == 1
        assert one.deciles == (1,) * 10
        assert one.of_clairvoyant == one.of_best_static == one.of_best_deadline == _exactly(1)


def test_late_work_that_is_finished_costs_the_next_round() -> None:
    # Worker 1 is cut in round 0 at 1 s and is done at 3 s, in the middle of round 1, which it then starts on.
    seconds = np.array([[1.0, 3.0], [4.0, 1.0]])
    facts, by_name = _compared(seconds, "backup:c=1", "wait-all", late_finish=True)
    assert facts.late == "finish"
    assert facts.closes["backup:c=1"].tolist() == [1, 3]
    assert by_name["backup:c=1"].throughput == _exactly(2 / 4)
    assert by_name["wait-all"].throughput == _exactly(4 / 7)
    # Fixed settings are the best of this mode, which here is to wait for both.
    assert by_name["best-static"].throughput == by_name["best-deadline"].throughput == _exactly(4 / 7)
    # The clairvoyant is not of this mode: it takes the first after 1 s, twice.
    assert by_name["clairvoyant"].throughput == _exactly(2 / 2)


def test_bounds_in_hindsight_look_at_the_rounds_that_count() -> None:
    # With round 0 the first worker alone would be best, after 0.01 s or whenever it comes.
    seconds = np.array([[0.01, 100.0], [1.0, 1.1]])
    _, by_name = _compared(seconds, "wait-all", warmup=1)
    assert by_name["best-static"].throughput == by_name["best-deadline"].throughput == _exactly(2 / 1.1)


def test_absent_and_censored_cells_by_hand() -> None:
    # Worker 2 is away in round 1 and lost after 2 s in round 2.
    seconds = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, np.nan], [1.0, 4.0, 2.0]])
    observed = np.array([[True, True, True], [True, True, False], [True, True, False]])
    facts = compare(_recorded(seconds, observed), [entrant("wait-all"), entrant("backup:c=3")], Setting())
    plain, three = facts.policies[:2]
    assert plain.throughput == three.throughput == _exactly((3 + 2 + 2) / (3 + 2 + 4))
    assert facts.cutoffs["backup:c=3"].tolist() == [3, 2, 2]
    # Workers 0 and 1 in all rounds they took part in, worker 2 in one of two.
    assert plain.least_served == pytest.approx(0.5 / (2.5 / 3))
    # 2 + 1 of 9 s, 1 of 4 s, 3 of 12 s; the lost worker does not wait.
    assert plain.idle == pytest.approx((3 + 1 + 3) / (9 + 4 + 12))


@pytest.mark.parametrize(
    ("rounds", "left_out"),
    [(1, 0), (9, 0), (10, 1), (19, 1), (20, 2), (499, 49), (500, 50), (501, 50), (10_000, 50)],
)
def test_the_usual_warm_up_is_a_tenth_and_at_most_fifty(rounds: int, left_out: int) -> None:
    assert Setting().warmup_of(rounds) == left_out


def test_a_given_warm_up_is_taken_unless_it_leaves_nothing() -> None:
    assert Setting(warmup=0).warmup_of(1000) == 0
    assert Setting(warmup=999).warmup_of(1000) == 999
    with pytest.raises(ParameterError, match="one of the 1000 rounds, but got 1000"):
        Setting(warmup=1000).warmup_of(1000)


def test_a_spread_is_mean_least_and_most() -> None:
    # 3.182 standard errors of four values with a deviation of the root of 14/3.
    reach = 3.18245 * math.sqrt(14 / 3 / 4)
    low, high = pytest.approx(3 - reach, rel=1e-4), pytest.approx(3 + reach, rel=1e-4)
    assert Spread.over([3.0, 1.0, 2.0, 6.0]) == Spread(mean=3.0, least=1.0, most=6.0, low=low, high=high)
    assert Spread.over([3.0]) == Spread(3.0, 3.0, 3.0)
    assert Spread.over([3.0, math.inf]) == Spread(math.inf, 3.0, math.inf)


def test_seeds_are_spread_and_averaged() -> None:
    demo, backup = source("demo8"), entrant("backup:b=1")
    facts = compare(demo, [backup, entrant("wait-all")], Setting(seeds=3, rounds=20))
    tables = [demo.draw(seed, 20).table for seed in range(3)]
    runs = [contest(table, backup, late_finish=False, overhead=0.0).run for table in tables]
    rates = [run.throughput(2) for run in runs]
    assert len(set(rates)) == 3
    assert facts.seeds == 3
    throughput = facts.policies[0].throughput
    assert throughput == Spread.over(rates)
    assert throughput.low is not None
    assert throughput.high is not None
    assert throughput.low < min(rates) < max(rates) < throughput.high
    assert facts.policies[0].idle == pytest.approx(sum(run.idle_share(2) for run in runs) / 3)
    # The cost of waiting is the mean of all seeds too: wait-all saves nothing.
    assert facts.policies[1].idle == facts.idle_before
    # Pictures show the first seed.
    assert np.array_equal(facts.seconds, tables[0].seconds)


@pytest.mark.parametrize(("given", "rate"), [(None, 3 / 3), (0.0, 3 / 2), (4.0, 3 / 6)])
def test_the_overhead_is_the_source_own_unless_given(given: float | None, rate: float) -> None:
    cluster = Sampled("two seconds", "", Iid(Deterministic(2.0), 3, overhead=1.0), 20)
    facts = compare(cluster, [entrant("wait-all")], Setting(seeds=1, overhead=given))
    assert facts.policies[0].throughput == _exactly(rate)


@pytest.mark.parametrize("spec", ["demo8", "table"])
def test_progress_is_told_as_often_as_promised(spec: str) -> None:
    one = source("demo8") if spec == "demo8" else _recorded(np.ones((20, 3)))
    entrants, setting = [entrant("wait-all"), entrant("bandit")], Setting(seeds=2, rounds=20)
    told: list[str] = []
    compare(one, entrants, setting, told.append)
    assert len(told) == steps(one, entrants, setting)
    # The bounds that every row is compared with come first.
    assert told[: len(BOUNDS) + 1] == [*BOUNDS[1:], "wait-all", "bandit"]
    assert ("informed" in told) == (spec == "demo8")


def test_only_what_takes_whole_and_fresh_gradients_is_measured_by_the_bounds() -> None:
    specs = [
        "wait-all",
        "bandit",
        "drop-compute",
        "batch-sync",
        "stale-sync",
        "softsync",
        "async",
        "drop-compute:micro=1",
    ]
    facts = compare(_recorded(np.ones((20, 3))), [entrant(spec) for spec in specs], Setting())
    kinds = {one.policy: one.kind for one in facts.policies}
    assert [kinds[spec] for spec in specs] == ["policy"] * 2 + ["other"] * 5 + ["policy"]
    assert {kinds[bound] for bound in BOUNDS[1:]} == {"bound"}


def test_a_fixed_cutoff_is_counted_without_deciding_and_others_are_timed() -> None:
    _, by_name = _compared(BY_HAND, "backup:c=2", "bandit")
    fixed, chosen = by_name["backup:c=2"], by_name["bandit"]
    assert fixed.decision_ms_p50 is fixed.decision_ms_p99 is fixed.round_ms is None
    assert chosen.decision_ms_p50 is not None
    assert chosen.decision_ms_p99 is not None
    assert chosen.round_ms is not None
    assert 0 < chosen.decision_ms_p50 <= chosen.decision_ms_p99
    assert chosen.round_ms > 0


def test_a_fixed_cutoff_is_the_same_one_decision_at_a_time() -> None:
    seconds = np.random.default_rng(2).lognormal(0.0, 0.5, (30, 6))
    # An absent worker in a round of its own makes the table go through the decisions.
    holed = np.vstack([seconds, np.where(np.arange(6) == 0, np.nan, 1.0)])
    quick = contest(Table.dense(seconds), entrant("backup:c=4"), late_finish=False, overhead=0.1)
    slow = contest(Table.dense(holed), entrant("backup:c=4"), late_finish=False, overhead=0.1)
    assert quick.round_ms is None
    assert slow.round_ms is not None
    assert np.allclose(slow.run.elapsed[:30], quick.run.elapsed)
    assert np.array_equal(slow.run.accepted[:30], quick.run.accepted)


def test_a_run_that_ends_within_the_warm_up_has_no_figures_and_says_so() -> None:
    # With all 51 gradients to an update, the fast worker goes through the table before there is one.
    seconds = np.ones((40, 51))
    seconds[:, 0] = 0.001
    facts, by_name = _compared(seconds, "softsync:k=1", "wait-all")
    ended = by_name["softsync:k=1"]
    assert math.isnan(ended.throughput.mean)
    assert math.isnan(ended.of_clairvoyant.mean)
    assert math.isnan(ended.mean_cutoff)
    assert math.isnan(ended.idle)
    assert by_name["wait-all"].throughput == _exactly(51)
    (note,) = [note for note in facts.notes if "No figures" in note]
    assert "softsync:k=1" in note


def test_a_policy_may_be_built_by_hand() -> None:
    mine = Entrant("mine", Policy(NoForecast(), Backup(c=2)), ASYNCHRONOUS)
    facts = compare(_recorded(np.ones((20, 3))), [mine], Setting())
    assert facts.policies[0].policy == "mine"
    assert facts.policies[0].kind == "other"
    assert facts.policies[0].throughput == _exactly(3)


@pytest.mark.parametrize(
    ("seconds", "overhead"),
    [(1e16, 0.0), (1e-13, 0.0), (1.0, 1e15), (1.0, 1e300)],
)
def test_what_no_clock_can_show_is_refused(seconds: float, overhead: float) -> None:
    with pytest.raises(InputError, match="no clock shows"):
        compare(_recorded(np.full((3, 2), seconds)), [], Setting(overhead=overhead))


def test_times_too_far_apart_for_one_clock_are_refused_and_closer_ones_are_not() -> None:
    seconds = np.array([[1e-6, 1e12], [1.0, 1.0]])
    with pytest.raises(InputError, match=r"from 1e-06 to 1e\+12 s"):
        compare(_recorded(seconds), [], Setting())
    seconds[0, 1] = 1e6
    facts = compare(_recorded(seconds), [entrant("wait-all")], Setting())
    assert facts.policies[0].throughput == _exactly(4 / (1e6 + 1))


def test_a_round_without_any_gradient_is_refused() -> None:
    seconds, observed = np.ones((5, 2)), np.ones((5, 2), dtype=np.bool_)
    observed[3] = False
    with pytest.raises(InputError, match="round 3 "):
        compare(_recorded(seconds, observed), [], Setting())


def test_samples_have_their_seed_length_and_name() -> None:
    sampled = Sampled("mine", "", Iid(LogNormal(), 4), 30)
    assert sampled.draw(0, None).table.rounds == 30
    assert sampled.draw(0, 7).table.rounds == 7
    assert sampled.draw(0, 7).table.source == "mine"
    assert np.array_equal(sampled.draw(3, 7).table.seconds, sampled.draw(3, 7).table.seconds)
    assert not np.array_equal(sampled.draw(3, 7).table.seconds, sampled.draw(4, 7).table.seconds)
    assert (sampled.seeds(5), sampled.has_law) == (5, True)
    with pytest.raises(ParameterError, match="at least 2, but got 1"):
        sampled.draw(0, 1)
    with pytest.raises(ParameterError, match="too many"):
        sampled.draw(0, 100_000_000)
    with pytest.raises(ParameterError, match="lone must have at least 2 workers, but got 1"):
        Sampled("lone", "", Iid(LogNormal(), 1), 30)


def test_a_recorded_table_is_cut_and_never_lengthened() -> None:
    recorded = _recorded(BY_HAND)
    assert recorded.draw(9, None).table is recorded.table
    assert recorded.draw(9, 50).table is recorded.table
    assert np.array_equal(recorded.draw(9, 2).table.seconds, BY_HAND[:2])
    assert (recorded.seeds(5), recorded.has_law) == (1, False)
    assert recorded.draw(0, None).overhead == 0.0
