from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.errors import ParameterError
from tailcut.rules.bandit import Bandit, BanditMemory, cutoffs
from tailcut.rules.base import Opening
from tailcut.types import Close, Fate, FloatArray, Progress, Roster, RoundRecord, RunTimes, Wait

NO_TIMES = RunTimes(np.empty(0, np.int64), np.empty(0), np.empty(0, np.bool_), np.empty(0, np.int64))


def record(n: int, count: int, elapsed: float, overhead: float = 0.0) -> RoundRecord:
    used = np.arange(n) < count
    return RoundRecord(
        version=0,
        opened=0.0,
        elapsed=elapsed,
        overhead=overhead,
        roster=Roster.of(n),
        arrivals=np.where(used, elapsed, math.inf),
        accepted=used.astype(np.int64),
        shares=np.ones(n),
        fates=np.where(used, Fate.USED, Fate.ABANDONED),
        run_times=NO_TIMES,
        staleness=np.zeros(count, dtype=np.int64),
    )


def play(
    rule: Bandit, rows: list[FloatArray], memory: BanditMemory | None = None, overhead: float = 0.0
) -> tuple[list[int], BanditMemory]:
    """The cutoffs chosen on rounds with the given run times; the rows may differ in length."""
    memory, chosen = memory or rule.start(), []
    for row in rows:
        plan = rule.plan(memory, Opening(Roster.of(len(row)), None, overhead))
        chosen.append(plan.cutoff)
        elapsed = float(np.sort(row)[plan.cutoff - 1])
        memory = rule.learn(memory, plan, record(len(row), plan.cutoff, elapsed, overhead))
    return chosen, memory


def slowed(n: int, slow: int, rounds: int, rng: np.random.Generator) -> list[FloatArray]:
    """Rounds in which the last `slow` of n workers are four times slower."""
    factor = np.where(np.arange(n) < n - slow, 1.0, 4.0)
    return list(factor * rng.lognormal(0.0, 0.05, (rounds, n)))


def share(chosen: list[int], good: Callable[[int], bool]) -> float:
    return float(np.mean([good(c) for c in chosen]))


@given(n=st.integers(1, 3000))
def test_cutoffs_fall_from_everybody_to_a_third_in_growing_steps(n: int) -> None:
    tried = cutoffs(n)
    assert tried[0] == n
    assert tried[-1] == math.ceil(n / 3)
    assert len(tried) <= 12
    assert (np.diff(tried) < 0).all()


def test_near_everybody_each_cutoff_is_tried() -> None:
    assert {158, 157, 156} <= set(cutoffs(158).tolist())
    assert len(cutoffs(158)) >= 10


def test_every_cutoff_is_tried_once_first() -> None:
    tried = cutoffs(20).tolist()
    chosen, _ = play(Bandit(), [np.ones(20)] * len(tried))
    assert chosen == tried


@pytest.mark.parametrize("seed", range(4))
def test_the_best_cutoff_is_found(seed: int) -> None:
    rows = slowed(12, slow=3, rounds=400, rng=np.random.default_rng(seed))
    chosen, _ = play(Bandit(), rows)
    assert share(chosen[100:], lambda c: c == 9) > 0.75


@pytest.mark.parametrize("seed", range(4))
def test_where_nothing_straggles_it_waits_for_nearly_all(seed: int) -> None:
    rows = slowed(12, slow=0, rounds=400, rng=np.random.default_rng(seed))
    chosen, _ = play(Bandit(), rows)
    assert share(chosen[100:], lambda c: c >= 11) > 0.75


@pytest.mark.parametrize("seed", range(4))
def test_a_changed_best_cutoff_is_found_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, memory = play(Bandit(), slowed(12, slow=3, rounds=400, rng=rng))
    chosen, memory = play(Bandit(), slowed(12, slow=6, rounds=400, rng=rng), memory)
    assert share(chosen[200:], lambda c: c == 6) > 0.75
    chosen, _ = play(Bandit(), slowed(12, slow=0, rounds=400, rng=rng), memory)
    assert share(chosen[200:], lambda c: c >= 11) > 0.75


def test_overhead_counts_against_short_rounds() -> None:
    rng = np.random.default_rng(0)
    rows = slowed(12, slow=3, rounds=400, rng=rng)
    chosen, _ = play(Bandit(), rows, overhead=20.0)
    assert share(chosen[100:], lambda c: c == 12) > 0.75


def test_throughput_is_a_ratio_of_sums() -> None:
    # Cutoff 1 takes 1 s or 0.001 s in turn: the mean of the rates is 500 per second, the throughput 2.
    rule, memory = (
        Bandit(discount=1.0),
        BanditMemory(2, np.ones(2), np.array([8.0, 1.0]), np.array([2.0, 1.0])),
    )
    plan = rule.plan(
        BanditMemory(2, np.array([9.0, 0.0]), memory.values, memory.seconds), Opening(Roster.of(2), None)
    )
    assert plan.cutoff == 1
    after = rule.learn(memory, plan, record(2, 1, 0.001))
    assert after.values.tolist() == [8.0, 2.0]
    assert after.seconds.tolist() == [2.0, 1.001]
    assert rule.plan(after, Opening(Roster.of(2), None)).cutoff == 2


@given(power=st.integers(-30, 30), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_the_unit_of_time_changes_no_decision(power: int, seed: int) -> None:
    rows = slowed(9, slow=2, rounds=80, rng=np.random.default_rng(seed))
    scale = 2.0**power
    plain, _ = play(Bandit(), rows, overhead=0.3)
    scaled, _ = play(Bandit(), [row * scale for row in rows], overhead=0.3 * scale)
    assert plain == scaled


@pytest.mark.parametrize(("before", "after", "best"), [(24, 18, 12), (18, 24, 16), (12, 36, 24)])
def test_what_is_known_carries_over_to_another_number_of_workers(before: int, after: int, best: int) -> None:
    rng = np.random.default_rng(1)
    _, memory = play(Bandit(), slowed(before, slow=before // 3, rounds=300, rng=rng))
    chosen, _ = play(Bandit(), slowed(after, slow=after // 3, rounds=30, rng=rng), memory)
    assert abs(float(np.median(chosen)) - best) <= after // 12


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=40))
@settings(max_examples=50, deadline=None)
def test_cutoffs_stay_within_any_roster(sizes: list[int]) -> None:
    chosen, _ = play(Bandit(), [np.ones(n) for n in sizes])
    assert all(1 <= c <= n for c, n in zip(chosen, sizes, strict=True))


def test_it_waits_for_its_cutoff() -> None:
    rule = Bandit()
    plan = rule.plan(rule.start(), Opening(Roster.of(3), None))
    nobody_left = np.zeros(3, dtype=np.bool_)
    assert rule.decide(plan, Progress(0.0, np.full(3, np.inf), nobody_left, 0)) == Wait(count=3)
    assert rule.decide(plan, Progress(1.0, np.ones(3), nobody_left, 3)) == Close()
    assert (
        rule.decide(plan, Progress(1.0, np.array([1, np.inf, 1]), np.array([0, 1, 0], np.bool_), 2))
        == Close()
    )


def test_a_round_that_took_no_time_teaches_nothing() -> None:
    rule = Bandit()
    memory = rule.start()
    plan = rule.plan(memory, Opening(Roster.of(3), None))
    assert rule.learn(memory, plan, record(3, 3, 0.0)) is memory


def test_its_cutoff_is_not_fixed() -> None:
    assert Bandit().fixed_count(8) is None


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"discount": 0.0}, "discount must be over 0 and at most 1, but got 0.0"),
        ({"discount": 1.1}, "but got 1.1"),
        ({"explore": 0.0}, "explore must be over 0 and finite, but got 0.0"),
        ({"explore": math.inf}, "but got inf"),
        ({"arms": 1}, "arms must be at least 2, but got 1"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Bandit(**parameters)  # type: ignore[arg-type]
