from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.errors import ParameterError
from tailcut.rules.backup import Backup
from tailcut.rules.base import Opening
from tailcut.rules.explore import Explore
from tailcut.rules.fair import Fair, FairMemory
from tailcut.rules.micro import MicroDeadline
from tailcut.rules.wait_all import WaitAll
from tailcut.types import (
    BoolArray,
    Close,
    Fate,
    FloatArray,
    IntArray,
    Progress,
    Roster,
    RoundRecord,
    RunTimes,
    Wait,
)

NO_TIMES = RunTimes(np.empty(0, np.int64), np.empty(0), np.empty(0, np.bool_), np.empty(0, np.int64))


def record(roster: Roster, arrivals: FloatArray, fates: IntArray) -> RoundRecord:
    used = fates == Fate.USED
    return RoundRecord(
        version=0,
        opened=0.0,
        elapsed=1.0,
        overhead=0.0,
        roster=roster,
        arrivals=arrivals,
        accepted=used.astype(np.int64),
        shares=np.ones(len(roster)),
        fates=fates,
        run_times=NO_TIMES,
        staleness=np.zeros(int(used.sum()), dtype=np.int64),
    )


def closing_count(rule: Fair[Any, Any], plan: Any, arrivals: FloatArray) -> int:
    """Let the workers arrive one by one and ask only when the last answer says so."""
    n, order = len(arrivals), np.sort(arrivals)
    count, wait = 0, rule.decide(plan, Progress(0.0, np.full(n, np.inf), np.zeros(n, np.bool_), 0))
    while isinstance(wait, Wait):
        assert wait.count is not None
        assert count < wait.count <= n
        count = wait.count
        if count == n:
            break
        now = order[count - 1]
        seen = np.where(arrivals <= now, arrivals, np.inf)
        wait = rule.decide(plan, Progress(float(now), seen, np.zeros(n, np.bool_), count))
    return count


@dataclass
class Toy:
    """Rounds in virtual time where late work is abandoned, except by those whom the rule lets finish.

    Attributes:
        out: seconds each worker still needs for an older gradient, NaN where it is free.
        longest: the most rounds in a row each worker has gone without.
    """

    rule: Fair[Any, Any]
    n: int
    memory: FairMemory[Any] = field(init=False)
    out: FloatArray = field(init=False)
    without: IntArray = field(init=False)
    longest: IntArray = field(init=False)
    long_rounds: int = 0

    def __post_init__(self) -> None:
        self.memory = self.rule.start()
        self.out = np.full(self.n, np.nan)
        self.without = np.zeros(self.n, dtype=np.int64)
        self.longest = self.without

    def round(self, seconds: FloatArray) -> None:
        busy = ~np.isnan(self.out)
        roster = Roster(np.arange(self.n), np.full(self.n, -1), np.where(busy, 1.0, np.nan))
        plan = self.rule.plan(self.memory, Opening(roster, None))
        welcome = np.isin(roster.workers, self.rule.welcome_stale(plan))
        # An older gradient that is not welcome is finished in vain, and the round's own work comes after it.
        arrivals = np.where(busy, self.out + np.where(welcome, 0.0, seconds), seconds)
        count = closing_count(self.rule, plan, arrivals)
        elapsed = float(np.sort(arrivals)[count - 1])
        self._close(plan, roster, arrivals, arrivals <= elapsed, busy & (self.out > elapsed), elapsed)

    def _close(
        self,
        plan: Any,
        roster: Roster,
        arrivals: FloatArray,
        used: BoolArray,
        unstarted: BoolArray,
        elapsed: float,
    ) -> None:
        fates = np.where(used, Fate.USED, np.where(unstarted, Fate.UNSTARTED, Fate.ABANDONED))
        chosen = self.rule.finishers(self.memory, record(roster, arrivals, fates))
        pending = np.isin(roster.workers, chosen) & (fates == Fate.ABANDONED)
        final = np.where(pending, Fate.PENDING, fates)
        self.memory = self.rule.learn(self.memory, plan, record(roster, arrivals, final))
        self.out = np.where(pending, arrivals - elapsed, np.where(unstarted, self.out - elapsed, np.nan))
        self.without = np.where(used, 0, self.without + 1)
        self.longest = np.maximum(self.longest, self.without)
        self.long_rounds += elapsed > 2.0


def test_nobody_is_served_before_somebody_has_gone_too_long() -> None:
    rule = Fair(Backup(c=1), most_rounds=6)
    memory = FairMemory(None, np.arange(4), np.array([0, 2, 3, 5]))
    plan = rule.plan(memory, Opening(Roster.of(4), None))
    assert not plan.served.any()


def test_all_who_have_gone_half_as_long_are_served_together() -> None:
    rule = Fair(Backup(c=1), most_rounds=6)
    memory = FairMemory(None, np.arange(4), np.array([0, 2, 3, 6]))
    plan = rule.plan(memory, Opening(Roster.of(4), None))
    assert plan.served.tolist() == [False, False, True, True]


def seen(*arrivals: float, gone: tuple[int, ...] = ()) -> Progress:
    times = np.array(arrivals)
    return Progress(9.0, times, np.isin(np.arange(len(times)), gone), int(np.isfinite(times).sum()))


def test_a_round_stays_open_until_all_who_are_served_are_in_or_gone() -> None:
    rule, inf = Fair(Backup(c=2), most_rounds=6), math.inf
    plan = rule.plan(FairMemory(None, np.arange(5), np.array([0, 0, 0, 6, 6])), Opening(Roster.of(5), None))
    assert rule.decide(plan, seen(inf, inf, inf, inf, inf)) == Wait(count=2)
    assert rule.decide(plan, seen(1, 1, inf, inf, inf)) == Wait(count=4)
    assert rule.decide(plan, seen(1, 1, 2, 2, inf)) == Wait(count=5)
    assert rule.decide(plan, seen(1, 1, inf, inf, inf, gone=(4,))) == Wait(count=3)
    assert rule.decide(plan, seen(1, 1, inf, inf, inf, gone=(3, 4))) == Close()
    assert rule.decide(plan, seen(1, inf, inf, 2, 2)) == Close()


def test_the_inner_rules_wait_passes_in_a_serving_round() -> None:
    rule = Fair(Backup(c=2), most_rounds=1)
    plan = rule.plan(FairMemory(None, np.arange(3), np.array([1, 0, 0])), Opening(Roster.of(3), None))
    assert rule.decide(plan, seen(1, math.inf, math.inf)) == Wait(count=2)


@given(n=st.integers(2, 20), most=st.integers(1, 12), c=st.integers(1, 19), seed=st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_waiting_keeps_the_bound_for_everybody(n: int, most: int, c: int, seed: int) -> None:
    rng, toy = np.random.default_rng(seed), Toy(Fair(Backup(c=c), most_rounds=most), n)
    speed = rng.lognormal(0.0, 1.0, n)
    for _ in range(5 * most + 5):
        toy.round(speed * rng.lognormal(0.0, 0.3, n))
    assert toy.longest.max() <= most


def test_serving_together_makes_one_round_in_many_long() -> None:
    toy = Toy(Fair(Backup(c=4), most_rounds=9), n=8)
    rng = np.random.default_rng(0)
    for _ in range(100):
        toy.round(np.array([1.0] * 4 + [5.0] * 4) * rng.uniform(0.9, 1.1, 8))
    assert toy.long_rounds == 10


@given(n=st.integers(2, 12), most=st.integers(1, 8), seed=st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_stale_gradients_bound_it_by_as_many_rounds_as_the_work_takes(n: int, most: int, seed: int) -> None:
    rng, toy = np.random.default_rng(seed), Toy(Fair(Backup(c=1), most_rounds=most, how="stale"), n)
    for _ in range(6 * most + 30):
        toy.round(rng.uniform(1.0, 3.0, n))
    # The work takes 3 s at most, in which each worker, at 1 s or more per gradient, ends 4 rounds at most.
    assert toy.longest.max() <= most + 4 * n


def test_with_stale_no_round_waits() -> None:
    toy = Toy(Fair(Backup(c=4), most_rounds=5, how="stale"), n=8)
    rng = np.random.default_rng(0)
    for _ in range(100):
        toy.round(np.array([1.0] * 4 + [5.0] * 4) * rng.uniform(0.9, 1.1, 8))
    assert toy.long_rounds == 0
    assert toy.longest.max() <= 5 + 7


def test_with_stale_a_starved_worker_finishes_and_is_welcome_until_it_is_in() -> None:
    rule, roster = Fair(Backup(c=1), most_rounds=2, how="stale"), Roster.of(2)
    opening, memory = Opening(Roster.of(2), None), rule.start()
    arrivals, cut = np.array([1.0, np.inf]), np.array([Fate.USED, Fate.ABANDONED])
    expected = [([], []), ([], [1]), ([1], []), ([1], [1])]
    fates = [cut, cut, np.array([Fate.USED, Fate.UNSTARTED]), cut]
    for fate, (welcome, finish) in zip(fates, expected, strict=True):
        plan = rule.plan(memory, opening)
        assert not plan.served.any()
        assert rule.welcome_stale(plan).tolist() == welcome
        assert rule.finishers(memory, record(roster, arrivals, fate)).tolist() == finish
        memory = rule.learn(memory, plan, record(roster, arrivals, fate))
    memory = rule.learn(memory, plan, record(roster, np.ones(2), np.array([Fate.ABANDONED, Fate.USED])))
    assert rule.welcome_stale(rule.plan(memory, opening)).tolist() == []


def test_waiting_lets_nobody_finish_and_welcomes_nothing_stale() -> None:
    rule = Fair(Backup(c=1), most_rounds=1)
    memory = FairMemory(None, np.arange(2), np.array([0, 7]))
    cut = record(Roster.of(2), np.array([1.0, np.inf]), np.array([Fate.USED, Fate.ABANDONED]))
    assert rule.finishers(memory, cut).size == 0
    assert rule.welcome_stale(rule.plan(memory, Opening(Roster.of(2), None))).size == 0


def test_a_rejected_gradient_is_not_waited_for_again() -> None:
    rule = Fair(Backup(c=1), most_rounds=2)
    memory = FairMemory(None, np.arange(2), np.array([0, 2]))
    plan = rule.plan(memory, Opening(Roster.of(2), None))
    memory = rule.learn(memory, plan, record(Roster.of(2), np.ones(2), np.array([Fate.USED, Fate.REJECTED])))
    assert memory.without.tolist() == [0, 0]


def test_a_worker_that_joins_starts_at_nothing() -> None:
    rule = Fair(Backup(c=1), most_rounds=2)
    memory = FairMemory(None, np.array([4, 9]), np.array([2, 0]))
    roster = Roster(np.array([1, 4, 7]), np.full(3, -1), np.full(3, np.nan))
    assert rule.plan(memory, Opening(roster, None)).served.tolist() == [False, True, False]


@given(data=st.data(), how=st.sampled_from(["wait", "stale"]))
@settings(max_examples=30, deadline=None)
def test_relabelling_the_workers_relabels_who_is_served(data: st.DataObject, how: Any) -> None:
    without = np.array(data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=8)))
    n = len(without)
    order = np.array(data.draw(st.permutations(range(n))))
    rule, opening = Fair(Backup(c=1), most_rounds=5, how=how), Opening(Roster.of(n), None)
    plain = rule.plan(FairMemory(None, np.arange(n), without), opening)
    moved = rule.plan(FairMemory(None, np.arange(n), without[order]), opening)
    assert moved.served.tolist() == plain.served[order].tolist()
    assert np.isin(np.arange(n), moved.welcome).tolist() == np.isin(order, plain.welcome).tolist()


def test_everything_else_is_the_inner_rules() -> None:
    micro = Fair(MicroDeadline(threshold=2.0), most_rounds=3)
    assert micro.worker_deadline(micro.plan(micro.start(), Opening(Roster.of(2), None))) == 2.0
    exploring = Fair(Explore(Backup(c=1), first=1), most_rounds=9, how="stale")
    cut = record(Roster.of(2), np.array([1.0, np.inf]), np.array([Fate.USED, Fate.ABANDONED]))
    assert exploring.finishers(exploring.start(), cut).tolist() == [1]
    memory = exploring.learn(
        exploring.start(), exploring.plan(exploring.start(), Opening(Roster.of(2), None)), cut
    )
    assert memory.inner.cuts.tolist() == [0, 1]


def test_the_cutoff_is_fixed_only_where_nobody_goes_without() -> None:
    assert Fair(WaitAll(), most_rounds=3).fixed_count(8) == 8
    assert Fair(Backup(b=1), most_rounds=3).fixed_count(8) is None


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"most_rounds": 0}, "most_rounds must be at least 1, but got 0"),
        ({"most_rounds": 3, "how": "hope"}, 'how must be "wait" or "stale", but got \'hope\''),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Fair(WaitAll(), **parameters)
