from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.errors import ParameterError
from tailcut.rules.backup import Backup
from tailcut.rules.base import Opening
from tailcut.rules.explore import Explore, ExploreMemory, carried
from tailcut.rules.fair import Fair
from tailcut.rules.micro import MicroDeadline
from tailcut.rules.wait_all import WaitAll
from tailcut.types import Close, Fate, Progress, Roster, RoundRecord, RunTimes, Wait

NO_TIMES = RunTimes(np.empty(0, np.int64), np.empty(0), np.empty(0, np.bool_), np.empty(0, np.int64))
CUT, OUT, USED = Fate.ABANDONED, Fate.UNSTARTED, Fate.USED


def record(fates: dict[int, Fate], pending: Iterable[int] = ()) -> RoundRecord:
    """A closed round by worker id; cut workers in `pending` finish in the background."""
    ids = sorted(fates)
    n = len(ids)
    used = np.array([fates[w] == Fate.USED for w in ids])
    final = [Fate.PENDING if w in set(pending) else fates[w] for w in ids]
    busy = np.array([1.0 if fates[w] == Fate.UNSTARTED else math.nan for w in ids])
    return RoundRecord(
        version=0,
        opened=0.0,
        elapsed=1.0,
        overhead=0.0,
        roster=Roster(np.array(ids, dtype=np.int64), np.full(n, -1), busy),
        arrivals=np.where(used, 1.0, math.inf),
        accepted=used.astype(np.int64),
        shares=np.ones(n),
        fates=np.array(final, dtype=np.int64),
        run_times=NO_TIMES,
        staleness=np.zeros(int(used.sum()), dtype=np.int64),
    )


class Run:
    """Closes rounds the way an engine does: asks who finishes, then lets the rule learn."""

    def __init__(self, rule: Explore[Any, Any]) -> None:
        self.rule = rule
        self.memory: ExploreMemory[Any] = rule.start()

    def close(self, fates: dict[int, Fate]) -> list[int]:
        chosen: list[int] = self.rule.finishers(self.memory, record(fates)).tolist()
        plan = self.rule.plan(self.memory, Opening(Roster.of(len(fates)), None))
        self.memory = self.rule.learn(self.memory, plan, record(fates, pending=chosen))
        return chosen


def explore(budget: float = math.inf, **parameters: Any) -> Run:
    return Run(Explore(Backup(c=1), budget=budget, **parameters))


def test_with_few_workers_one_finishes_and_then_hardly_any() -> None:
    run = explore(budget=1 / 50)
    turns = [cut for cut in range(1, 300) if run.close({0: USED, 1: CUT})]
    assert turns[0] == 3
    assert len(turns) <= 3


def test_with_many_workers_the_budget_is_a_share_of_all_rounds() -> None:
    run = explore(budget=1 / 50, first=1, most_share=1.0)
    fates = {0: USED} | dict.fromkeys(range(1, 50), CUT)
    away = [len(run.close(fates)) for _ in range(400)]
    assert 0.005 < sum(away) / (400 * 50) < 0.04


def test_a_worker_finishes_after_its_3rd_6th_12th_and_24th_cut() -> None:
    run = explore()
    turns = [cut for cut in range(1, 60) if run.close({0: USED, 1: CUT}) == [1]]
    assert turns == [3, 6, 12, 24, 48]


@pytest.mark.parametrize(("first", "expected"), [(1, [1, 2, 4, 8, 16]), (5, [5, 10])])
def test_the_first_turn_is_a_parameter(first: int, expected: list[int]) -> None:
    run = explore(first=first)
    assert [cut for cut in range(1, 20) if run.close({0: USED, 1: CUT})] == expected


@pytest.mark.parametrize("fate", [Fate.USED, Fate.REJECTED])
def test_an_arrival_starts_the_count_again(fate: Fate) -> None:
    run = explore()
    for _ in range(5):
        run.close({0: USED, 1: CUT})
    run.close({0: USED, 1: fate})
    assert [bool(run.close({0: USED, 1: CUT})) for _ in range(6)] == [False, False, True, False, False, True]


def test_rounds_spent_on_older_work_are_no_cuts() -> None:
    run = explore()
    assert [run.close({0: USED, 1: CUT}) for _ in range(3)][-1] == [1]
    for _ in range(10):
        assert run.close({0: USED, 1: OUT}) == []
    assert [run.close({0: USED, 1: CUT}) for _ in range(3)] == [[], [], [1]]


def test_an_older_gradient_that_is_accepted_counts_as_used() -> None:
    run = explore()
    for _ in range(2):
        run.close({0: USED, 1: CUT})
    stale = record({0: USED, 1: CUT})
    stale.accepted[1] = 1
    assert run.rule.finishers(run.memory, stale).size == 0
    plan = run.rule.plan(run.memory, Opening(Roster.of(2), None))
    run.memory = run.rule.learn(run.memory, plan, stale)
    assert run.memory.cuts.tolist() == [0, 0]


def test_one_at_a_time_may_be_out_among_few() -> None:
    run = explore()
    everyone_cut = {0: USED, 1: CUT, 2: CUT, 3: CUT}
    for _ in range(2):
        assert run.close(everyone_cut) == []
    assert run.close(everyone_cut) == [1]
    assert run.close({0: USED, 1: OUT, 2: CUT, 3: CUT}) == []
    assert run.close({0: USED, 1: CUT, 2: CUT, 3: CUT}) == [2]
    assert run.close({0: USED, 1: CUT, 2: USED, 3: CUT}) == [3]


def test_of_those_whose_turn_it_is_the_longest_cut_goes_first() -> None:
    run = explore()
    for _ in range(2):
        run.close({0: USED, 1: USED, 2: CUT})
    assert run.close({0: USED, 1: CUT, 2: CUT}) == [2]
    run.close({0: USED, 1: CUT, 2: OUT})
    assert run.close({0: USED, 1: CUT, 2: OUT}) == []
    assert run.close({0: USED, 1: CUT, 2: CUT}) == [1]
    run.close({0: USED, 1: OUT, 2: CUT})
    run.close({0: USED, 1: OUT, 2: CUT})
    assert run.close({0: USED, 1: CUT, 2: CUT}) == [2]


def test_the_share_sets_how_many_may_be_out() -> None:
    fates = dict.fromkeys(range(150), CUT) | {150 + w: USED for w in range(50)}
    run = explore(first=1)
    assert run.close(fates) == [0, 1, 2, 3]
    run = explore(first=1, most_share=0.1)
    assert len(run.close(fates)) == 20


def test_a_worker_that_comes_back_starts_afresh() -> None:
    run = explore()
    for _ in range(2):
        run.close({0: USED, 7: CUT})
    run.close({0: USED})
    assert [run.close({0: USED, 7: CUT}) for _ in range(3)] == [[], [], [7]]


def test_others_joining_and_leaving_do_not_disturb_a_count() -> None:
    run = explore()
    assert run.close({3: USED, 7: CUT}) == []
    assert run.close({1: USED, 3: USED, 7: CUT, 9: USED}) == []
    assert run.close({1: USED, 7: CUT}) == [7]


def test_the_inner_rules_finishers_come_first_and_only_once() -> None:
    rule = Explore(Fair(Backup(c=1), most_rounds=1, how="stale"), first=1)
    fates = {0: USED, 1: CUT, 2: CUT}
    assert rule.finishers(rule.start(), record(fates)).tolist() == [1, 2]


def test_shifting_the_ids_shifts_the_result() -> None:
    plain, shifted = explore(), explore()
    rng = np.random.default_rng(0)
    for _ in range(40):
        fates = {w: (USED if rng.random() < 0.1 else CUT) for w in range(6)}
        there = shifted.close({w + 100: fate for w, fate in fates.items()})
        assert there == [w + 100 for w in plain.close(fates)]


@given(n=st.integers(1, 120), seed=st.integers(0, 10_000), most=st.sampled_from([0.02, 0.1, 0.5]))
@settings(max_examples=40, deadline=None)
def test_never_too_many_are_out_and_only_cut_workers_are_chosen(n: int, seed: int, most: float) -> None:
    rng, run = np.random.default_rng(seed), explore(most_share=most)
    back: dict[int, int] = {}  # rounds each worker is still out
    for _ in range(30):
        free = {w: (CUT if w % 3 and rng.random() < 0.95 else USED) for w in range(n) if w not in back}
        chosen = run.close(free | dict.fromkeys(back, OUT))
        assert all(free[w] == CUT for w in chosen)
        back = {w: left - 1 for w, left in back.items() if left > 1}
        back |= {w: left for w in chosen if (left := int(rng.integers(0, 5)))}
        assert len(back) <= max(1, n * most + 1e-9)


@given(old=st.sets(st.integers(0, 30)), new=st.sets(st.integers(0, 30)))
def test_numbers_follow_their_worker(old: set[int], new: set[int]) -> None:
    before, after = np.array(sorted(old), dtype=np.int64), np.array(sorted(new), dtype=np.int64)
    numbers = carried(before, before * 10, after, fresh=-1)
    assert numbers.tolist() == [w * 10 if w in old else -1 for w in sorted(new)]


def test_decisions_and_deadlines_are_the_inner_rules() -> None:
    rule = Explore(Backup(c=1))
    plan = rule.plan(rule.start(), Opening(Roster.of(2), None))
    nobody_left = np.zeros(2, dtype=np.bool_)
    assert rule.decide(plan, Progress(0.0, np.full(2, np.inf), nobody_left, 0)) == Wait(count=1)
    assert rule.decide(plan, Progress(1.0, np.array([1.0, np.inf]), nobody_left, 1)) == Close()
    assert rule.welcome_stale(plan).size == 0
    micro = Explore(MicroDeadline(threshold=2.0))
    assert micro.worker_deadline(micro.plan(micro.start(), Opening(Roster.of(2), None))) == 2.0


def test_the_cutoff_is_fixed_only_where_nobody_is_cut() -> None:
    assert Explore(WaitAll()).fixed_count(8) == 8
    assert Explore(Backup(b=0)).fixed_count(8) == 8
    assert Explore(Backup(b=1)).fixed_count(8) is None


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"first": 0}, "first must be at least 1 cut, but got 0"),
        ({"most_share": 0.0}, "most_share must be over 0 and at most 1, but got 0.0"),
        ({"most_share": 2.0}, "but got 2.0"),
        ({"budget": 0.0}, "budget must be over 0, but got 0.0"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Explore(WaitAll(), **parameters)
