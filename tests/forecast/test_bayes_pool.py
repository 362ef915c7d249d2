"""The law of all workers: forgotten only as fast as new evidence comes."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut.forecast.bayes import pool
from tailcut.forecast.trend.cells import BELOW, COUNT, PER_OCTAVE, Cells
from tailcut.forecast.trend.own import Tally, hazard, paced
from tailcut.likelihood import kaplan_meier
from tailcut.types import BoolArray, FloatArray

N, MEMORY = 50, 20.0


def everyone(n: int = N) -> BoolArray:
    return np.ones(n, np.bool_)


def normal_round(rng: np.random.Generator) -> FloatArray:
    """Normal in cells, which is log-normal in seconds."""
    return np.clip(150.0 + 14.0 * rng.standard_normal(N), 0.0, COUNT - 1.0)


def quantiles(tally: Tally, levels: tuple[float, ...] = (0.1, 0.5, 0.9)) -> list[int]:
    reached = np.cumsum(pool.law(tally))
    return [int(np.count_nonzero(reached < level)) for level in levels]


def test_without_forgetting_it_is_kaplan_meier() -> None:
    rng = np.random.default_rng(1)
    cells, tally = Cells(1.0), Tally.empty(COUNT)
    limit = cells.ends(np.array([BELOW * PER_OCTAVE + 10]))[0]
    seconds, seen = [], []
    for _ in range(30):
        times = np.exp(0.4 * rng.standard_normal(N))
        observed = (times <= limit) | (rng.random(N) < 0.2)
        seconds.append(np.where(observed, times, limit))
        seen.append(observed)
        tally = paced(tally, cells.position(seconds[-1]), observed, np.inf)
    survival = np.cumprod(1.0 - hazard(tally))
    events, exact = kaplan_meier(np.concatenate(seconds), np.concatenate(seen))
    for cell in range(BELOW * PER_OCTAVE - 40, BELOW * PER_OCTAVE + 20, 5):
        end = cells.ends(np.array([cell]))[0]
        expected = exact[np.searchsorted(events, end, side="right") - 1]
        assert survival[cell] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("limit", [np.inf, 164.5])
def test_the_law_stays_true_for_many_times_its_memory(limit: float) -> None:
    """The tally forgets events and exposure alike, so that the law stays true."""
    rng = np.random.default_rng(0)
    tally = Tally.empty(COUNT)
    for _ in range(int(30 * MEMORY)):
        position = normal_round(rng)
        observed = (position < limit) | (rng.random(N) < 0.05)
        tally = paced(tally, np.minimum(position, np.where(observed, COUNT, limit)), observed, MEMORY * N)
    np.testing.assert_allclose(quantiles(tally), [132.0, 149.5, 167.5], atol=2.0)


def test_events_never_exceed_their_exposure() -> None:
    rng = np.random.default_rng(2)
    tally = Tally.empty(COUNT)
    for _ in range(300):
        position, observed = normal_round(rng), rng.random(N) < rng.random()
        tally = paced(tally, position, observed, 3.0 * N)
        exposure = tally.exposure()
        assert (tally.events >= 0.0).all()
        assert (exposure >= tally.events - 1e-6).all()
        law = pool.law(tally)
        assert (law >= -1e-12).all()
        assert law.sum() == pytest.approx(1.0)


def test_where_all_are_exposed_a_memory_is_forgotten_by_one_part_a_round() -> None:
    before = paced(Tally.empty(COUNT), np.full(N, 100.5), everyone(), MEMORY * N)
    after = paced(before, np.full(N, 120.5), everyone(), MEMORY * N)
    assert after.events[100] == pytest.approx(N * (1.0 - 1.0 / MEMORY))
    assert after.exposure()[100] == pytest.approx(N * (1.0 - 1.0 / MEMORY) + N)


def test_where_nobody_is_exposed_nothing_is_forgotten() -> None:
    tail = paced(Tally.empty(COUNT), np.full(N, 300.5), everyone(), MEMORY * N)
    tally = tail
    for _ in range(500):
        tally = paced(tally, np.full(N, 100.5), everyone(), MEMORY * N)
    np.testing.assert_allclose(tally.events[300], N)
    np.testing.assert_allclose(tally.exposure()[110:], tail.exposure()[110:])
    assert hazard(tally)[100] == pytest.approx(1.0, abs=1e-3)


def test_an_empty_pool_is_a_law_too() -> None:
    law = pool.law(Tally.empty(COUNT))
    assert law.sum() == pytest.approx(1.0)
    assert (law > 0.0).all()
