"""Run times that depend on when work begins: closed forms, and the table's own result where no state moves."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut.bounds import best_static, clairvoyant, clairvoyant_whole, first_in_turn, in_turn
from tailcut.bounds.sorted_rounds import SortedRounds
from tailcut.clusters import Split
from tailcut.engines.simulated import Run, replay
from tailcut.names import entrant
from tailcut.table import Table
from tailcut.timeline import Timeline
from tailcut.types import FloatArray

NOWHERE = np.full(8, -1)


def timeline(noise: FloatArray, scale: FloatArray, step: float, tick: float = 0.0) -> Timeline:
    return Timeline(noise, scale, step, NOWHERE[: noise.shape[1]], "by hand", tick)


def play(times: Table | Timeline, spec: str, late_finish: bool = False, overhead: float = 0.0) -> Run:
    one = entrant(spec)
    return replay(
        times,
        one.policy,
        late_finish=late_finish,
        overhead=overhead,
        acceptance=one.acceptance,
        micro=one.policy.micro,
        sees_all=one.policy.sees_all,
    )


def same(one: Run, other: Run) -> None:
    for name in ("elapsed", "counts", "accepted", "idle", "present", "values", "opened"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_work_goes_at_the_speed_of_each_slot_it_goes_through() -> None:
    # 10 s as usual, 10 s at a quarter of the speed, then at half of it for good.
    path = timeline(np.full((2, 1), 4.0), np.array([[1.0], [4.0], [2.0]]), 10.0)
    spans = {now: path.run_time(0, 0, now)[0] for now in (0.0, 6.0, 8.0, 10.0, 19.0, 20.0, 1000.0)}
    # From 8 s: 2 s of work in 2 s, the other 2 in 8 s. From 10 s: 2.5 in 10 s, 1.5 in 3 s. From 19 s: .25, then 3.75.
    assert spans == {0.0: 4.0, 6.0: 4.0, 8.0: 10.0, 10.0: 13.0, 19.0: 8.5, 20.0: 8.0, 1000.0: 8.0}


def test_work_that_begins_earlier_is_never_done_later() -> None:
    rng = np.random.default_rng(0)
    path = timeline(rng.gamma(2.0, 1.0, (1, 1)), rng.choice([0.5, 1.0, 7.0], (200, 1)), 0.3)
    starts = np.sort(rng.uniform(0.0, 60.0, 500))
    ends = starts + np.array([path.run_time(0, 0, now)[0] for now in starts])
    assert (np.diff(ends) >= -1e-9).all()


def test_a_worker_that_is_away_takes_no_part_and_one_that_leaves_is_lost_with_its_work() -> None:
    path = timeline(np.full((3, 2), 4.0), np.array([[1.0, 1.0], [1.0, np.nan], [1.0, 1.0]]), 10.0)
    assert path.at(0, 6.0)[1].tolist() == [True, True]
    seconds, ends = path.at(0, 7.0)
    assert (seconds.tolist(), ends.tolist()) == ([4.0, 3.0], [True, False])
    there = path.present(0, np.array([[7.0], [10.0], [20.0]]))
    assert there.tolist() == [[True, True], [True, False], [True, True]]
    # Round 0 from 0 s, round 1 from 4 s, round 2 from 8 s: there worker 1 is lost at 10 s.
    run = play(path, "wait-all")
    assert run.counts.tolist() == [2, 2, 1]
    assert run.opened.tolist() == [0.0, 4.0, 8.0]
    assert run.elapsed.tolist() == [4.0, 4.0, 4.0]


def test_a_worker_that_was_away_is_back_in_the_next_round_that_opens() -> None:
    scale = np.ones((6, 2))
    scale[1, 1] = np.nan
    run = play(timeline(np.full((5, 2), 2.0), scale, 4.0), "wait-all")
    # Slot 1 lasts from 4 to 8 s, rounds 2 s: worker 1 misses rounds 2 and 3.
    assert run.present.tolist() == [2, 2, 1, 1, 2]


def test_a_coarse_clock_rounds_up_what_the_path_made_of_the_work() -> None:
    path = timeline(np.full((1, 1), 2.0), np.array([[1.0], [4.0]]), 1.0, tick=2.0)
    assert path.run_time(0, 0, 0.0)[0] == 6.0
    assert path.run_time(0, 0, 1.0)[0] == 8.0


@pytest.mark.parametrize("late_finish", [False, True])
@pytest.mark.parametrize(
    "spec", ["wait-all", "backup:c=3", "stopping", "elfving", "bandit", "softsync", "bounded-stale"]
)
def test_constant_states_give_the_result_of_the_table(spec: str, late_finish: bool) -> None:
    noise = np.random.default_rng(1).gamma(4.0, 0.25, (30, 5))
    split = Split(noise, np.ones((480, 5)))
    acceptance = entrant(spec).acceptance
    if late_finish and (acceptance.keeps_work or acceptance.refill):
        pytest.skip("late work is kept anyway")
    by_clock = play(split.by_clock(NOWHERE[:5], "a", 0.1), spec, late_finish, 0.1)
    same(by_clock, play(split.by_rounds(NOWHERE[:5], "a"), spec, late_finish, 0.1))


def test_what_a_run_met_is_the_table_it_could_have_been_played_on() -> None:
    rng = np.random.default_rng(2)
    path = timeline(rng.gamma(4.0, 0.25, (20, 4)), rng.choice([1.0, 3.0], (60, 4)), 1.0)
    run = play(path, "backup:c=3")
    again = play(path.met(run.opened), "backup:c=3")
    assert np.array_equal(run.accepted, again.accepted)
    assert run.elapsed == pytest.approx(again.elapsed, rel=1e-12)


SLOW, ROUNDS = 10.0, 400
"""Two workers take 1 and 2 s; all run times are 10 times as long in every other 25 rounds, or stretch of 200 s."""
TAKE = np.tile([1.0, 2.0], (ROUNDS, 1))
STRETCH = 200.0


def test_a_table_lets_foresight_rush_through_slow_rounds() -> None:
    slow = (np.arange(ROUNDS) // 25 % 2 == 1)[:, None]
    table = Table.dense(TAKE * np.where(slow, SLOW, 1.0))
    # One in 1 and 10 s, or two in 2 and 20 s, is the same; two when it is quick and one when it is slow is more.
    assert best_static(table).run.throughput() == pytest.approx(2 / 11)
    assert clairvoyant_whole(table).run.throughput() == pytest.approx(3 / 12)


def test_by_the_clock_rushing_gains_nothing() -> None:
    slots = np.arange(40)[:, None]
    path = timeline(TAKE, np.where(slots % 2 == 1, SLOW, 1.0) * np.ones((40, 2)), STRETCH)

    def seconds(work: float) -> float:
        """Return when `work` seconds of work are done: every two stretches complete 220 of them."""
        whole, rest = divmod(work, STRETCH + STRETCH / SLOW)
        return whole * 2 * STRETCH + (rest if rest <= STRETCH else STRETCH + (rest - STRETCH) * SLOW)

    # Every gradient takes 1 s of work, whether one is waited for or two, or one when it is slow and two when it is not.
    now = 0.0

    def rush(one: SortedRounds) -> float:
        nonlocal now
        elapsed = float(one.arrivals[0, 0 if now // STRETCH % 2 == 1 else 1])
        now += elapsed
        return elapsed

    one, two, rushed = first_in_turn(path, 1), first_in_turn(path, 2), in_turn(path, rush)
    assert ROUNDS < rushed.counts.sum() < 2 * ROUNDS
    for run in (one, two, rushed, clairvoyant(path).run):
        gradients = float(run.counts.sum())
        assert run.throughput() == pytest.approx(gradients / seconds(gradients), rel=1e-9)
    # Over whole periods that is the same rate for all.
    assert seconds(440.0) == 2 * seconds(220.0)
