"""Order statistics of one law, value per time, time grids: against closed forms, scipy and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tailcut import order


def harmonic_gap(n: int, r: int) -> float:
    """E[x_(r)] of n standard exponential variables."""
    return sum(1 / k for k in range(n - r + 1, n + 1))


class TestNormalScores:
    @pytest.mark.parametrize("n", [158, 2175])
    def test_elfving_is_within_8_thousandths_for_many(self, n: int) -> None:
        assert np.abs(order.elfving(n) - order.exact_normal_scores(n)).max() <= 0.008

    @pytest.mark.parametrize("n", [5, 8, 10, 16])
    def test_blom_is_better_for_about_ten(self, n: int) -> None:
        exact = order.exact_normal_scores(n)
        assert np.abs(order.blom(n) - exact).max() < np.abs(order.elfving(n) - exact).max()

    def test_exact_scores_match_known_values(self) -> None:
        np.testing.assert_allclose(order.exact_normal_scores(1), [0.0], atol=1e-12)
        np.testing.assert_allclose(order.exact_normal_scores(2)[1], 1 / np.sqrt(np.pi), rtol=1e-10)
        np.testing.assert_allclose(order.exact_normal_scores(3)[2], 1.5 / np.sqrt(np.pi), rtol=1e-10)

    def test_exact_scores_match_scipy(self) -> None:
        means = [stats.order_statistic(stats.Normal(), r=r, n=10).mean() for r in (6, 8, 10)]
        np.testing.assert_allclose(order.exact_normal_scores(10)[[5, 7, 9]], means, rtol=1e-6)

    @given(n=st.integers(1, 300))
    @settings(deadline=None)
    def test_scores_increase_and_are_symmetric(self, n: int) -> None:
        for scores in (order.elfving(n), order.blom(n)):
            assert scores.shape == (n,)
            assert (np.diff(scores) > 0).all()
            np.testing.assert_allclose(scores, -scores[::-1], atol=1e-9)

    def test_scores_are_shared_and_cannot_be_changed(self) -> None:
        assert order.elfving(7) is order.elfving(7)
        assert not order.elfving(7).flags.writeable
        assert not order.exact_normal_scores(7).flags.writeable

    def test_no_variables_are_refused(self) -> None:
        with pytest.raises(ValueError, match="n=0"):
            order.normal_scores(0, 0.375)
        with pytest.raises(ValueError, match="Alpha"):
            order.normal_scores(3, 1.0)


class TestBinomialLaw:
    @given(n=st.integers(1, 60), p=st.floats(1e-9, 1 - 1e-9) | st.sampled_from([0.0, 1.0]))
    @settings(deadline=None)
    def test_matches_scipy(self, n: int, p: float) -> None:
        expected = stats.binom.pmf(np.arange(n + 1), n, p)
        np.testing.assert_allclose(order.binomial_law(n, np.array([p]))[0], expected, rtol=1e-9, atol=1e-14)

    def test_certainties(self) -> None:
        np.testing.assert_array_equal(order.binomial_law(2, np.array([0.0, 1.0])), [[1, 0, 0], [0, 0, 1]])

    def test_thousands_of_trials_sum_to_one(self) -> None:
        law = order.binomial_law(2175, np.linspace(0, 1, 33))
        np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=1e-10)


class TestExactOrderMeans:
    @pytest.mark.parametrize("n", [1, 2, 7, 158])
    def test_one_straight_piece_is_the_uniform_law(self, n: int) -> None:
        means = order.exact_order_means(np.array([3.0]), np.array([0.0]), n)
        np.testing.assert_allclose(means, 3 * np.arange(1, n + 1) / (n + 1), rtol=1e-9)

    def test_splitting_a_straight_piece_changes_nothing(self) -> None:
        fine = np.linspace(0.001, 3.0, 3000)
        means = order.exact_order_means(fine, 1 - fine / 3, 158)
        np.testing.assert_allclose(means, 3 * np.arange(1, 159) / 159, rtol=1e-8)

    @pytest.mark.parametrize("n", [1, 8, 158, 2175])
    def test_exponential_law(self, n: int) -> None:
        times = np.concatenate([np.linspace(2e-5, 0.01, 250), np.geomspace(0.0102, 25.0, 1500)])
        means = order.exact_order_means(times, np.exp(-times), n)
        ranks = sorted({1, (n + 1) // 2, n})
        expected = [harmonic_gap(n, r) for r in ranks]
        np.testing.assert_allclose(means[np.array(ranks) - 1], expected, rtol=2e-3)

    def test_time_beyond_the_grid_is_not_counted(self) -> None:
        # Each of two arrives at 1 with probability 0.6, later than 2 otherwise.
        times, survival = np.array([0.999999, 1.0, 2.0]), np.array([1.0, 0.4, 0.4])
        means = order.exact_order_means(times, survival, 2)
        np.testing.assert_allclose(means, [1 + 0.16, 1 + 0.64], rtol=1e-5)

    def test_plateaus_and_atoms_against_brute_force(self) -> None:
        n = 9
        times = np.array([1.0, 1.1, 9.0, 9.9])
        survival = np.array([1.0, 0.1, 0.1, 0.0])
        draws = np.random.default_rng(1).random((200_000, n))
        rows = np.sort(np.interp(draws, [0, 0.9, 0.9 + 1e-12, 1], [1, 1.1, 9.0, 9.9]), axis=1)
        error = 4 * rows.std(axis=0) / np.sqrt(len(rows))
        assert (np.abs(order.exact_order_means(times, survival, n) - rows.mean(axis=0)) < error + 1e-6).all()


class TestRates:
    def test_rate_is_value_per_second_with_overhead(self) -> None:
        rates = order.rate_curve(np.array([1.0, 2.0]), np.array([1.0, 3.0]), 1.0)
        np.testing.assert_allclose(rates, [0.5, 0.5])

    def test_first_of_equal_rates_wins(self) -> None:
        assert order.best_cutoff(np.array([1.0, 2.0]), np.array([1.0, 3.0]), 1.0) == 1

    def test_what_takes_for_ever_is_never_best(self) -> None:
        values, times = np.arange(1.0, 4.0), np.array([5.0, np.inf, np.inf])
        assert order.best_cutoff(values, times) == 1
        np.testing.assert_array_equal(order.rate_curve(values, times)[1:], 0.0)

    def test_overhead_makes_patience_pay(self) -> None:
        times = order.exact_order_means(np.linspace(0.01, 20, 2000), np.exp(-np.linspace(0.01, 20, 2000)), 16)
        cutoffs = [
            order.best_cutoff(np.arange(1.0, 17.0), times, overhead) for overhead in (0.0, 0.5, 2.0, 50.0)
        ]
        assert cutoffs == sorted(cutoffs)
        assert cutoffs[0] < cutoffs[-1] == 16

    @pytest.mark.parametrize(("n", "gain"), [(158, 1.11), (2175, 1.21)])
    def test_best_static_over_waiting_for_all_on_normal_times(self, n: int, gain: float) -> None:
        rates = order.rate_curve(np.arange(1.0, n + 1), 1 + 0.2 * order.exact_normal_scores(n))
        assert rates.max() / rates[-1] == pytest.approx(gain, abs=0.01)


class TestTimeGrid:
    @given(
        values=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=50),
        size=st.integers(4, 200),
    )
    @settings(deadline=None)
    def test_covers_the_values_in_increasing_order(self, values: list[float], size: int) -> None:
        grid = order.time_grid(np.array(values), size)
        assert len(grid) <= size
        assert (np.diff(grid) > 0).all()
        assert grid[0] == pytest.approx(min(values))
        assert max(values) < grid[-1] <= max(values) * 1.001
