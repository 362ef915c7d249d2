"""The optimal stopping rate: by hand, against every rule there is on tiny grids, and against simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tailcut.optimal import (
    OptimalStopping,
    best_fixed_cutoff_rate,
    best_fixed_deadline_rate,
    cutoff_rates,
    deadline_rates,
    optimal_stopping,
    wait_all_rate,
)
from tailcut.types import FloatArray

Law = tuple[FloatArray, FloatArray]


def uniform_body(size: int = 2000) -> Law:
    """Return a law uniform between 0.9 and 1.1 seconds, with one in ten nine times slower."""
    times = np.linspace(0.005, 9.9, size)
    body = stats.uniform(0.9, 0.2)
    survival = 0.9 * body.sf(times) + 0.1 * body.sf(times / 9)
    survival[-1] = 0.0
    return times, survival


def exponential(size: int, end: float = 14.0) -> Law:
    times = np.linspace(end / size, end, size)
    survival = np.exp(-times)
    survival[-1] = 0.0
    return times, survival


def draw(law: Law, shape: tuple[int, int], seed: int = 0) -> FloatArray:
    """Run times on the grid, infinite where they never come."""
    chance = np.random.default_rng(seed).random(shape)
    return np.append(law[0], np.inf)[np.searchsorted(1 - law[1], chance, side="right")]


def laws(most_times: int = 6) -> st.SearchStrategy[Law]:
    def build(seed: int, size: int, leaves_some: bool) -> Law:
        rng = np.random.default_rng(seed)
        mass = rng.dirichlet(np.full(size + leaves_some, 0.6))
        survival = np.clip(1 - np.cumsum(mass), 0, 1)[:size]
        if not leaves_some:
            survival[-1] = 0.0
        return np.cumsum(rng.uniform(0.1, 2.0, size)), survival

    return st.builds(build, st.integers(0, 2**32), st.integers(1, most_times), st.booleans())


def outcomes(law: Law, n: int) -> list[tuple[float, FloatArray]]:
    """Every row of n run times with its probability."""
    values = np.append(law[0], np.inf)
    mass = -np.diff(np.concatenate([[1.0], law[1], [0.0]]))
    return [
        (float(np.prod(mass[list(row)])), values[list(row)])
        for row in itertools.product(range(len(values)), repeat=n)
    ]


def run_by_hand(close: FloatArray, times: FloatArray, row: FloatArray) -> tuple[int, float]:
    for k, now in enumerate(times):
        count = int((row <= now).sum())
        if close[k, count]:
            return count, float(now)
    raise AssertionError("the last time closes")


def rate_by_hand(close: FloatArray, law: Law, n: int, overhead: float) -> float:
    results = [(p, *run_by_hand(close, law[0], row)) for p, row in outcomes(law, n)]
    return sum(p * c for p, c, _ in results) / (sum(p * t for p, _, t in results) + overhead)


class TestByHand:
    @pytest.mark.parametrize("overhead", [0.0, 0.7])
    def test_nothing_straggles_so_wait_for_all(self, overhead: float) -> None:
        times, survival = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 0.0])
        found = optimal_stopping(times, survival, 5, overhead)
        assert found.rate == pytest.approx(5 / (2 + overhead))
        counts, elapsed = found.run(np.full((3, 5), 2.0))
        assert (counts.tolist(), elapsed.tolist()) == ([5, 5, 5], [2.0, 2.0, 2.0])

    def test_one_worker_is_always_waited_for(self) -> None:
        times, survival = np.array([1.0, 9.0]), np.array([0.1, 0.0])
        assert optimal_stopping(times, survival, 1, 0.5).rate == pytest.approx(1 / (0.9 + 0.9 + 0.5))

    def test_two_workers_two_values(self) -> None:
        # In by 1: both with 1/4, one with 1/2, none with 1/4. Closing with one: E[N] = 1.5 in E[T] = 3 seconds;
        # waiting for the other: 2 in 7 seconds.
        found = optimal_stopping(np.array([1.0, 9.0]), np.array([0.5, 0.0]), 2, 0.0)
        assert found.rate == pytest.approx(0.5)
        assert found.close.tolist() == [[False, True, True], [True, True, True]]

    def test_a_large_overhead_makes_it_wait(self) -> None:
        found = optimal_stopping(np.array([1.0, 9.0]), np.array([0.5, 0.0]), 2, 100.0)
        assert found.rate == pytest.approx(2 / 107)
        assert found.close.tolist() == [[False, False, True], [True, True, True]]

    def test_what_never_comes_is_not_waited_for(self) -> None:
        found = optimal_stopping(np.array([1.0, 50.0]), np.array([0.5, 0.5]), 2, 0.0)
        # Three rounds in four close at 1, the others run into the end of the grid with nothing.
        assert found.rate == pytest.approx(1.0 / (0.75 + 0.25 * 50))

    @pytest.mark.parametrize(("n", "overhead"), [(2, 0.1), (2, 3.0), (8, 0.1)])
    def test_without_memory_a_cutoff_is_optimal(self, n: int, overhead: float) -> None:
        # Exponential times: between arrivals nothing is learnt, and the rule depends on the count alone.
        gaps = np.cumsum(1 / np.arange(n, 0, -1))
        best = (np.arange(1, n + 1) / (gaps + overhead)).max()
        times, survival = exponential(14_000)
        found = optimal_stopping(times, survival, n, overhead)
        assert found.rate == pytest.approx(best, rel=2e-3)
        middle = found.close[len(times) // 100 : len(times) // 2]
        assert (middle == middle[0]).all()

    def test_one_in_ten_nine_times_slower(self) -> None:
        times, survival = uniform_body()
        best = optimal_stopping(times, survival, 8, 0.0).rate
        assert best_fixed_cutoff_rate(times, survival, 8, 0.0) / best == pytest.approx(0.71, abs=0.01)
        assert wait_all_rate(times, survival, 8, 0.0) / best == pytest.approx(0.21, abs=0.01)
        assert best_fixed_deadline_rate(times, survival, 8, 0.0) / best > 0.999


class TestAgainstEveryRule:
    @given(law=laws(3), n=st.integers(1, 3), overhead=st.sampled_from([0.0, 0.3, 2.0]))
    @settings(max_examples=25, deadline=None)
    def test_no_rule_is_better(self, law: Law, n: int, overhead: float) -> None:
        found = optimal_stopping(*law, n, overhead)
        free = [(k, j) for k in range(len(law[0]) - 1) for j in range(1, n)]
        best = 0.0
        for choice in itertools.product((False, True), repeat=len(free)):
            close = np.zeros((len(law[0]), n + 1), dtype=bool)
            close[:, n] = close[-1] = True
            for (k, j), here in zip(free, choice, strict=True):
                close[k, j] = here
            best = max(best, rate_by_hand(close, law, n, overhead))
        assert found.rate == pytest.approx(best, rel=1e-9)
        assert rate_by_hand(found.close, law, n, overhead) == pytest.approx(best, rel=1e-9)

    @given(law=laws(40), n=st.integers(1, 12), overhead=st.floats(0, 5))
    @settings(max_examples=60, deadline=None)
    def test_fixed_rules_are_no_better(self, law: Law, n: int, overhead: float) -> None:
        best = optimal_stopping(*law, n, overhead).rate * (1 + 1e-9)
        assert best_fixed_deadline_rate(*law, n, overhead) <= best
        assert wait_all_rate(*law, n, overhead) <= best_fixed_cutoff_rate(*law, n, overhead) <= best


class TestFixedRules:
    @given(law=laws(4), n=st.integers(1, 3), overhead=st.sampled_from([0.0, 0.4]))
    @settings(max_examples=30, deadline=None)
    def test_cutoffs_by_enumeration(self, law: Law, n: int, overhead: float) -> None:
        end = law[0][-1]
        for c in range(1, n + 1):
            gradients = sum(p * min(c, (row <= end).sum()) for p, row in outcomes(law, n))
            seconds = sum(p * min(np.sort(row)[c - 1], end) for p, row in outcomes(law, n))
            rate = cutoff_rates(*law, n, overhead)[c - 1]
            assert rate == pytest.approx(gradients / (seconds + overhead), rel=1e-9)

    @given(law=laws(4), n=st.integers(1, 3), overhead=st.sampled_from([0.0, 0.4]))
    @settings(max_examples=30, deadline=None)
    def test_deadlines_by_enumeration(self, law: Law, n: int, overhead: float) -> None:
        rates = deadline_rates(*law, n, overhead)
        for deadline, rate in zip(law[0], rates, strict=True):
            gradients = seconds = 0.0
            for p, row in outcomes(law, n):
                closed = min(max(min(deadline, row.max()), row.min()), law[0][-1])
                gradients += p * (row <= closed).sum()
                seconds += p * closed
            assert rate == pytest.approx(gradients / (seconds + overhead), rel=1e-9)


class TestRun:
    @given(law=laws(8), n=st.integers(1, 6), seed=st.integers(0, 99))
    @settings(deadline=None)
    def test_every_row_is_closed_as_by_hand(self, law: Law, n: int, seed: int) -> None:
        found = optimal_stopping(*law, n, 0.2)
        rows = np.random.default_rng(seed).exponential(law[0][-1] / 2, (20, n))
        counts, elapsed = found.run(rows)
        by_hand = [run_by_hand(found.close, law[0], row) for row in rows]
        assert list(zip(counts.tolist(), elapsed.tolist(), strict=True)) == by_hand

    @pytest.mark.parametrize("n", [8, 32])
    def test_simulated_rate_is_the_computed_one(self, n: int) -> None:
        law = uniform_body(1000)
        found = optimal_stopping(*law, n, 0.1)
        counts, elapsed = found.run(draw(law, (100_000, n)))
        assert counts.mean() / (elapsed.mean() + 0.1) == pytest.approx(found.rate, rel=3e-3)

    def test_other_rules_on_the_same_rows_fall_behind(self) -> None:
        law = uniform_body(1000)
        rows = draw(law, (20_000, 8))
        counts, elapsed = optimal_stopping(*law, 8, 0.1).run(rows)
        best = counts.mean() / (elapsed.mean() + 0.1)
        in_order = np.sort(rows, axis=1)
        assert all(c / (in_order[:, c - 1].mean() + 0.1) < best for c in range(1, 9))

    def test_rows_of_another_width_are_refused(self) -> None:
        rule = OptimalStopping(1.0, np.array([1.0]), np.ones((1, 4), dtype=bool))
        with pytest.raises(ValueError, match="3 run times"):
            rule.run(np.ones((2, 5)))


@pytest.mark.parametrize(
    ("times", "survival", "n", "overhead", "message"),
    [
        ([1.0], [0.0], 0, 0.0, "n=0"),
        ([1.0], [0.0], 2, -1.0, "overhead=-1"),
        ([1.0, 2.0], [0.0], 2, 0.0, "equally long"),
        ([2.0, 2.0], [0.5, 0.0], 2, 0.0, "increase"),
        ([0.0, 2.0], [0.5, 0.0], 2, 0.0, "positive"),
        ([1.0, 2.0], [0.1, 0.9], 2, 0.0, "distribution function"),
        ([1.0, 2.0], [1.0, 1.0], 2, 0.0, "nobody ever arrives"),
    ],
)
def test_impossible_laws_are_refused(
    times: list[float], survival: list[float], n: int, overhead: float, message: str
) -> None:
    for ask in (optimal_stopping, cutoff_rates, deadline_rates):
        with pytest.raises(ValueError, match=message):
            ask(np.array(times), np.array(survival), n, overhead)
