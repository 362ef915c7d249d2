"""Censored likelihood terms and the product-limit estimate: against scipy and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tailcut.likelihood import censored_log_likelihood, kaplan_meier
from tailcut.types import FloatArray


def step_function(times: FloatArray, survival: FloatArray, at: FloatArray) -> FloatArray:
    return np.concatenate([[1.0], survival])[np.searchsorted(times, at, side="right")]


class TestCensoredLogLikelihood:
    def test_density_where_seen_survival_where_not(self) -> None:
        seen = np.array([True, False, True])
        total = censored_log_likelihood(
            np.array([-1.0, np.nan, -2.0]), np.array([np.nan, -0.5, np.nan]), seen
        )
        assert total == -3.5

    def test_is_largest_near_the_true_scale(self) -> None:
        times = np.random.default_rng(0).exponential(2.0, 20_000)
        seen, capped = times < 1.5, np.minimum(times, 1.5)
        scales = np.linspace(1.0, 3.0, 41)
        likelihood = [censored_log_likelihood(-np.log(s) - capped / s, -capped / s, seen) for s in scales]
        assert scales[np.argmax(likelihood)] == pytest.approx(2.0, abs=0.06)


class TestKaplanMeier:
    @given(
        data=st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=40),
    )
    @settings(deadline=None)
    def test_matches_scipy_with_ties(self, data: list[tuple[int, bool]]) -> None:
        seconds = np.array([float(s) for s, _ in data])
        observed = np.array([o for _, o in data])
        # scipy calls a sample of censored values only an error.
        if not observed.any():
            assert len(kaplan_meier(seconds, observed)[0]) == 0
            return
        sample = stats.CensoredData.right_censored(seconds, ~observed)
        at = np.linspace(0.5, 9.5, 19)
        ours = step_function(*kaplan_meier(seconds, observed), at)
        np.testing.assert_allclose(ours, stats.ecdf(sample).sf.evaluate(at), atol=1e-12)

    @given(
        data=st.lists(
            st.tuples(st.integers(1, 6), st.booleans(), st.integers(0, 4)), min_size=1, max_size=20
        ).filter(lambda rows: any(weight for _, _, weight in rows)),
    )
    @settings(deadline=None)
    def test_a_weight_is_a_repetition(self, data: list[tuple[int, bool, int]]) -> None:
        seconds = np.array([float(s) for s, _, _ in data])
        observed = np.array([o for _, o, _ in data])
        weights = np.array([w for _, _, w in data])
        weighted = kaplan_meier(seconds, observed, weights.astype(float))
        repeated = kaplan_meier(np.repeat(seconds, weights), np.repeat(observed, weights))
        np.testing.assert_array_equal(weighted[0], repeated[0])
        np.testing.assert_allclose(weighted[1], repeated[1], atol=1e-12)

    def test_without_censoring_it_is_the_empirical_law(self) -> None:
        seconds = np.random.default_rng(2).permutation(np.arange(1.0, 11.0))
        times, survival = kaplan_meier(seconds, np.ones(10, dtype=bool))
        np.testing.assert_array_equal(times, np.arange(1.0, 11.0))
        np.testing.assert_allclose(survival, 1 - np.arange(1, 11) / 10, atol=1e-12)

    def test_arrivals_come_before_censorings_at_equal_times(self) -> None:
        times, survival = kaplan_meier(np.array([2.0, 2.0]), np.array([False, True]))
        assert (times.tolist(), survival.tolist()) == ([2.0], [0.5])

    def test_a_censored_maximum_leaves_survival_positive(self) -> None:
        _, survival = kaplan_meier(np.array([1.0, 2.0, 5.0]), np.array([True, True, False]))
        assert survival[-1] == pytest.approx(1 / 3)

    def test_recovers_a_law_from_randomly_censored_samples(self) -> None:
        rng = np.random.default_rng(3)
        truth, cut = rng.exponential(1.0, 50_000), rng.uniform(0.2, 3.0, 50_000)
        estimate = kaplan_meier(np.minimum(truth, cut), truth <= cut)
        at = np.linspace(0.1, 2.5, 25)
        np.testing.assert_allclose(step_function(*estimate, at), np.exp(-at), atol=0.01)
