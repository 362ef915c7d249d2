"""The clairvoyant against all sequences of cutoffs, and against every policy."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import final

import numpy as np
import pytest
from bounds_tables import OVERHEADS, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.bounds import best_deadline, best_static, clairvoyant, clairvoyant_whole
from tailcut.engines.simulated import replay
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.policy_names import POLICIES
from tailcut.rules import Opening, Rule
from tailcut.rules.backup import wait_for
from tailcut.table import Table
from tailcut.types import Decision, IntArray, Progress, RoundRecord

WORD_FOR_WORD = ("elapsed", "counts", "accepted", "idle", "present")


def sorted_arrivals(table: Table) -> list[list[float]]:
    """Return the arrival times of each round in seconds, sorted."""
    return [sorted(row[seen].tolist()) for row, seen in zip(table.seconds, table.observed, strict=True)]


def best_rate(rows: list[list[float]], overhead: float) -> float:
    """The largest Σc / Σ(x_(c) + overhead) over all sequences of cutoffs, one by one."""
    choices = [[(c, x + overhead) for c, x in enumerate(row, start=1)] for row in rows]
    return max(sum(c for c, _ in picks) / sum(cost for _, cost in picks) for picks in product(*choices))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Told(Rule[int, int]):
    """Waits in round t for as many as it was told."""

    counts: IntArray

    def start(self) -> int:
        return 0

    def plan(self, memory: int, opening: Opening) -> int:
        return int(self.counts[memory])

    def decide(self, plan: int, progress: Progress) -> Decision:
        return wait_for(plan, progress)

    def learn(self, memory: int, plan: int, record: RoundRecord) -> int:
        return memory + 1


@settings(max_examples=150, deadline=None)
@given(table=tables(), overhead=OVERHEADS)
def test_the_whole_source_clairvoyant_is_the_best_of_all_sequences_of_cutoffs(
    table: Table, overhead: float
) -> None:
    bound = clairvoyant_whole(table, overhead).run.throughput()
    assert bound == pytest.approx(best_rate(sorted_arrivals(table), overhead), rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(table=tables(), overhead=OVERHEADS, window=st.integers(1, 6))
def test_the_clairvoyant_takes_the_best_cutoff_at_the_best_rate_of_its_window(
    table: Table, overhead: float, window: int
) -> None:
    rows = sorted_arrivals(table)
    counts = clairvoyant(table, overhead, window).run.counts
    for t, count in enumerate(counts.tolist()):
        price = best_rate(rows[max(0, t - window + 1) : t + 1], overhead)
        gains = [c - price * (x + overhead) for c, x in enumerate(rows[t], start=1)]
        assert gains[count - 1] == pytest.approx(max(gains), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(table=tables(), overhead=OVERHEADS)
def test_a_window_of_all_rounds_ends_as_the_whole_source(table: Table, overhead: float) -> None:
    last = clairvoyant(table, overhead, window=table.rounds).run
    whole = clairvoyant_whole(table, overhead).run
    price = whole.throughput()
    gains = [run.counts[-1] - price * (run.elapsed[-1] + overhead) for run in (last, whole)]
    assert gains[0] == pytest.approx(gains[1], abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(table=tables(), overhead=OVERHEADS)
def test_a_run_that_knew_the_cutoffs_is_the_run_of_the_clairvoyant(table: Table, overhead: float) -> None:
    for bound in (clairvoyant(table, overhead, window=2), clairvoyant_whole(table, overhead)):
        told = replay(table, Policy(NoForecast(), Told(bound.run.counts)), overhead=overhead)
        for name in WORD_FOR_WORD:
            assert np.array_equal(getattr(bound.run, name), getattr(told, name)), name


def test_it_says_in_how_many_rounds_it_rushes() -> None:
    fast, slow = [1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 90.0, 90.0, 90.0, 90.0]
    table = Table.dense(np.array([fast, slow, fast, fast]))
    bound = clairvoyant_whole(table)
    assert bound.run.counts.tolist() == [5, 1, 5, 5]
    assert bound.rushed == 0.25
    assert clairvoyant_whole(Table.dense(np.array([fast] * 4))).rushed == 0.0


@settings(max_examples=60, deadline=None)
@given(table=tables(), overhead=OVERHEADS)
def test_no_bound_in_hindsight_is_over_the_clairvoyant(table: Table, overhead: float) -> None:
    most = clairvoyant_whole(table, overhead).run.throughput() * (1 + 1e-12)
    assert clairvoyant(table, overhead, window=3).run.throughput() <= most
    for late_finish in (False, True):
        assert best_static(table, overhead, late_finish).run.throughput() <= most
        assert best_deadline(table, overhead, late_finish).run.throughput() <= most


# Parts of a mini-batch are no gradients, and can be had before the first whole one.
WHOLE_GRADIENTS = [name for name, named in POLICIES.items() if named.usual and name != "drop-compute"]


@pytest.mark.parametrize("late_finish", [False, True])
@pytest.mark.parametrize("name", [*WHOLE_GRADIENTS, "deadline"])
def test_no_policy_is_over_the_clairvoyant(name: str, late_finish: bool) -> None:
    policy = POLICIES[name].make()
    for seed in (0, 3):
        rng = np.random.default_rng(seed)
        shape = (40, 6)
        slow = np.where(rng.random(shape) < 0.15, 5.0, 1.0)
        seconds = slow * rng.lognormal(0.0, 0.3, shape) * rng.lognormal(0.0, 0.5, (40, 1))
        observed = rng.random(shape) < 0.95
        observed[:, 0] = True
        seconds[(rng.random(shape) < 0.05) & (np.arange(6) > 0)] = np.nan
        table = Table(seconds, observed & ~np.isnan(seconds), tuple(range(6)), np.full(6, -1))
        overhead = 0.1 * seed
        run = replay(table, policy, late_finish=late_finish, overhead=overhead, sees_all=policy.sees_all)
        assert run.throughput() <= clairvoyant_whole(table, overhead).run.throughput() * (1 + 1e-9)


def test_only_parts_of_mini_batches_can_be_over_it() -> None:
    table = Table.dense(np.random.default_rng(0).lognormal(0.0, 0.2, (200, 16)))
    policy = POLICIES["drop-compute"].make()
    run = replay(table, policy, micro=policy.micro)
    assert run.throughput(50) > clairvoyant_whole(table).run.throughput()
