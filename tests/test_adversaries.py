"""Adversarial tables: that each misleads as its docstring says."""

from __future__ import annotations

import numpy as np
import pytest
from tests import adversaries
from tests.adversaries import ADVERSARIES, best_fixed_rate, regret, regret_in_rounds

from tailcut import names
from tailcut.bounds import best_deadline, best_static
from tailcut.engines.simulated import first_arrivals, replay
from tailcut.table import Table


def drawn(name: str, rounds: int = 150, n: int = 8, seed: int = 0) -> Table:
    return ADVERSARIES[name](rounds, n, np.random.default_rng(seed))


def part(table: Table, rows: slice) -> Table:
    return Table.dense(table.seconds[rows])


def cutoff(table: Table) -> float:
    return best_static(table).setting


@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize("name", ADVERSARIES)
def test_every_table_is_whole_and_repeats_itself(name: str, n: int) -> None:
    table = drawn(name, 30, n)
    assert table.seconds.shape == (30, n)
    assert (table.seconds > 0).all()
    assert table.whole
    np.testing.assert_array_equal(table.seconds, drawn(name, 30, n).seconds)
    assert (table.seconds != drawn(name, 30, n, 1).seconds).any()


@pytest.mark.parametrize("name", ADVERSARIES)
def test_the_best_fixed_choice_regrets_nothing(name: str) -> None:
    table = drawn(name)
    runs = [best_static(table).run, best_deadline(table).run, first_arrivals(table, 8)]
    assert min(regret(run, table) for run in runs) == pytest.approx(0.0, abs=1e-12)
    best = min(runs, key=lambda run: regret(run, table))
    assert regret_in_rounds(best, table)[-1] == pytest.approx(0.0, abs=1e-6)


def test_switching_changes_the_best_cutoff() -> None:
    table = drawn("switching")
    assert [cutoff(part(table, slice(at, at + 25))) for at in (0, 25, 50, 75)] == [8, 1, 4, 8]


def test_in_the_trap_the_half_is_best_first_and_then_wrong() -> None:
    table = drawn("trap", 160)
    assert cutoff(part(table, slice(0, 40))) == 4
    assert cutoff(part(table, slice(40, 160))) == 8
    stuck = first_arrivals(part(table, slice(40, 160)), 4)
    assert regret(stuck, part(table, slice(40, 160))) > 0.4


def test_in_a_mirage_a_deadline_is_best() -> None:
    table = drawn("mirage")
    assert 1.0 < best_deadline(table).setting < 2.0
    assert best_deadline(table).run.throughput() > 1.2 * best_static(table).run.throughput()


def test_in_alternating_rounds_following_the_last_one_is_wrong() -> None:
    table = drawn("alternating")
    odd, even = part(table, slice(1, None, 2)), part(table, slice(0, None, 2))
    assert (cutoff(even), cutoff(odd)) == (4, 8)
    slow = table.seconds > 2.0
    assert not (slow[0] & slow[2]).any()
    counts = np.where(np.arange(150) % 2 == 0, 8, 4)
    follower = counts.sum() / np.sort(table.seconds, axis=1)[np.arange(150), counts - 1].sum()
    assert follower < 0.5 * best_fixed_rate(table)


@pytest.mark.parametrize("name", ["anti-correlated", "creeping"])
def test_with_a_common_factor_alone_waiting_is_best(name: str) -> None:
    table = drawn(name)
    assert first_arrivals(table, 8).throughput() == pytest.approx(best_fixed_rate(table), rel=0.01)
    assert table.seconds.max() > 3.5 * table.seconds.min()


def test_the_heavy_tail_is_rare_and_makes_waiting_bad() -> None:
    table = drawn("heavy tail", 600)
    slow = table.seconds > 100.0
    assert 0 < slow.mean() < 0.005
    assert regret(first_arrivals(table, 8), table) > 0.8


def test_random_sleepers_leave_somebody_awake() -> None:
    awake = (drawn("random sleepers", 400).seconds < 2.0).sum(axis=1)
    assert set(awake.tolist()) == set(range(1, 9))


def test_regret_counts_what_is_missing() -> None:
    table = Table.dense(np.array([[1.0, 2.0]] * 10))
    ones = first_arrivals(table, 1)
    assert best_fixed_rate(table) == pytest.approx(1.0)
    assert regret(ones, table) == pytest.approx(0.0)
    worse = first_arrivals(Table.dense(table.seconds * 2.0), 2)
    assert regret(worse, table) == pytest.approx(0.5)
    np.testing.assert_allclose(regret_in_rounds(worse, table), np.arange(1, 11))


def test_a_policy_can_be_played_against_each() -> None:
    for name in adversaries.ADVERSARIES:
        table = drawn(name, 12, 3)
        assert regret(replay(table, names.entrant("wait-all").policy), table) >= -1e-12
