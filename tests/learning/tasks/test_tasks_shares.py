"""The samples from which each worker draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut.errors import ParameterError
from tailcut.learning.tasks.shares import Shares

MANY = np.arange(2000)


def test_without_skew_everybody_draws_from_everything() -> None:
    found = Shares().drawn(10, np.full(2000, 3), MANY, 5, seed=0)
    counts = np.bincount(found.ravel(), minlength=10)
    assert np.abs(counts - 1000).max() < 5.5 * math.sqrt(1000)


@given(st.integers(1, 50), st.integers(50, 500), st.integers(0, 10**6))
def test_with_full_skew_everybody_has_a_part_and_together_they_have_it_all(
    of: int, n: int, seed: int
) -> None:
    shares = Shares(skew=1.0, of=of) if of > 1 else Shares()
    low, high = np.arange(of) * n // of, (np.arange(of) + 1) * n // of
    found = shares.drawn(n, np.arange(of), np.zeros(of, dtype=np.int64), 20, seed)
    assert (found >= low[:, None]).all()
    assert (found < high[:, None]).all()
    assert low[0] == 0
    assert high[-1] == n


def test_every_sample_of_a_part_comes_up() -> None:
    found = Shares(skew=1.0, of=3).drawn(11, np.full(2000, 1), MANY, 1, seed=0)
    assert sorted(set(found.ravel())) == [3, 4, 5, 6]


def test_more_workers_than_parts_share_them() -> None:
    shares = Shares(skew=1.0, of=4)
    found = shares.drawn(40, np.full(500, 6), np.arange(500), 1, seed=0)
    assert (found.min(), found.max()) == (20, 29)


@pytest.mark.parametrize("skew", [0.25, 0.5])
def test_between_a_share_comes_from_the_own_part(skew: float) -> None:
    found = Shares(skew=skew, of=10).drawn(100, np.full(2000, 7), MANY, 5, seed=1)
    own = ((found >= 70) & (found < 80)).mean()
    chance = skew + (1 - skew) / 10
    assert own == pytest.approx(chance, abs=5.5 * math.sqrt(chance * (1 - chance) / found.size))
    rest = found[(found < 70) | (found >= 80)]
    assert set(rest.ravel()) == set(range(100)) - set(range(70, 80))


def test_impossible_parameters_are_refused() -> None:
    for wrong in ({"skew": -0.1, "of": 2}, {"skew": 1.1, "of": 2}, {"skew": math.nan, "of": 2}):
        with pytest.raises(ParameterError, match="skew must be between 0 and 1"):
            Shares(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="write of=158"):
        Shares(skew=0.5)
    with pytest.raises(ParameterError, match="at most the 10 samples"):
        Shares(skew=1.0, of=11).refuse_more_parts_than(10)
