"""Random numbers by place: known values, uniform, independent of each other and of the order they are asked for in."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from tailcut.learning import draws
from tailcut.types import FloatArray

MANY = 100_000
PLACES = np.arange(MANY)


def off_uniform(u: FloatArray) -> float:
    """Kolmogorov and Smirnov's distance in units of what one draw in a million exceeds (Massart's bound)."""
    distance = np.abs(np.sort(u) - (np.arange(len(u)) + 0.5) / len(u)).max()
    return float(distance / math.sqrt(math.log(2e6) / (2 * len(u))))


def test_without_places_it_is_splitmix64() -> None:
    # First outputs of the reference implementation.
    assert int(draws.mixed(1234567)) == 6457827717110365317
    assert int(draws.mixed(0)) == 0xE220A8397B1DCDAF


@pytest.mark.parametrize("seed", [0, 1, -1, 2**63, 2**64 + 3])
def test_numbers_are_uniform_along_any_place(seed: int) -> None:
    for places in ((PLACES,), (5, PLACES), (PLACES, 0, 3), (PLACES % 300, PLACES // 300, 1)):
        u = draws.uniform(seed, *places)
        assert u.min() >= 0.0
        assert u.max() < 1.0
        assert off_uniform(u) < 1.0


def test_every_bit_is_a_fair_coin() -> None:
    bits = draws.mixed(3, PLACES)
    share = [(bits >> np.uint64(k) & np.uint64(1)).mean() for k in range(64)]
    assert np.abs(np.array(share) - 0.5).max() < 5.5 * 0.5 / math.sqrt(MANY)


def test_neighbouring_places_and_seeds_are_independent() -> None:
    base = draws.uniform(7, PLACES, 0)
    others = {
        "next place": draws.uniform(7, PLACES + 1, 0),
        "next stream": draws.uniform(7, PLACES, 1),
        "next seed": draws.uniform(8, PLACES, 0),
        "places exchanged": draws.uniform(7, np.zeros_like(PLACES), PLACES),
        "one place more": draws.uniform(7, PLACES, 0, 0),
    }
    for name, other in others.items():
        # Pairs fill the square evenly: 100 cells of 1000 pairs each, chi-squared with 99 degrees of freedom.
        cells = np.histogram2d(base, other, bins=10, range=((0, 1), (0, 1)))[0]
        assert ((cells - MANY / 100) ** 2 / (MANY / 100)).sum() < 99 + 5.5 * math.sqrt(2 * 99), name


def test_no_two_places_share_their_bits() -> None:
    grid = draws.mixed(0, np.arange(100)[:, None, None], np.arange(100)[:, None], np.arange(20))
    assert len(np.unique(grid)) == grid.size


def test_the_order_of_asking_does_not_matter() -> None:
    mixed = np.random.default_rng(0).permutation(1000)
    assert np.array_equal(draws.mixed(1, mixed), draws.mixed(1, np.arange(1000))[mixed])
    alone = np.array([draws.normal(1, int(place), 4) for place in mixed])
    assert np.array_equal(alone, draws.normal(1, mixed, 4))


def test_places_broadcast() -> None:
    grid = draws.uniform(2, np.arange(3)[:, None], np.arange(4))
    assert grid.shape == (3, 4)
    assert grid[2, 1] == draws.uniform(2, 2, 1)


def test_normal_numbers_are_normal_and_tell_nothing_of_each_other() -> None:
    z = draws.normal(5, PLACES)
    assert off_uniform(ndtr(z)) < 1.0
    for other in (draws.normal(6, PLACES), draws.normal(5, PLACES + 1), draws.uniform(6, PLACES)):
        for f in (np.asarray, np.abs):
            assert abs(np.corrcoef(f(z), f(other))[0, 1]) < 5.5 / math.sqrt(MANY)


@given(st.integers(1, 2**40), st.integers(-(2**70), 2**70), st.integers(0, 2**40))
def test_whole_numbers_stay_below_their_limit(limit: int, seed: int, place: int) -> None:
    found = draws.below(limit, seed, np.arange(place, place + 50))
    assert found.dtype == np.int64
    assert found.min() >= 0
    assert found.max() < limit


def test_whole_numbers_are_equally_likely() -> None:
    counts = np.bincount(draws.below(7, 4, PLACES), minlength=7)
    assert ((counts - MANY / 7) ** 2 / (MANY / 7)).sum() < 6 + 5.5 * math.sqrt(12) + 10


def test_each_place_may_have_its_own_limit() -> None:
    limits = np.array([1, 2, 1000])
    found = draws.below(limits, 9, np.arange(600)[:, None], np.arange(3))
    assert (found.max(axis=0) < limits).all()
    assert found.max(axis=0).tolist()[:2] == [0, 1]
    assert np.array_equal(found[:, 2], draws.below(1000, 9, np.arange(600), 2))
