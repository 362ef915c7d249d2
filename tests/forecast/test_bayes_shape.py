"""One shape for all workers, each at its own level, drawn together as far as they are alike."""

from __future__ import annotations

import numpy as np

from tailcut.forecast.bayes.shape import drawn_together, shape_laws
from tailcut.forecast.trend import Trend
from tailcut.forecast.trend.belief import TrendBelief
from tailcut.forecast.trend.cells import COUNT
from tailcut.types import NO_NODE, FloatArray, RunTimes

N = 12


def learnt(middles: FloatArray, rounds: int = 40, sigma: float = 0.2) -> TrendBelief:
    """Return the belief of `trend` about log-normal workers at those levels, without shared factors."""
    rng = np.random.default_rng(6)
    forecaster = Trend()
    belief = forecaster.start()
    n = len(middles)
    for _ in range(rounds):
        seconds = middles * np.exp(sigma * rng.standard_normal(n))
        belief = forecaster.learn(
            belief, RunTimes(np.arange(n), seconds, np.ones(n, np.bool_), np.full(n, NO_NODE))
        )
    assert belief is not None
    return belief


def medians(law: FloatArray) -> np.ndarray:
    return np.asarray((np.cumsum(law, axis=1) < 0.5).sum(axis=1))


def test_equal_workers_are_drawn_together() -> None:
    belief = learnt(np.ones(N))
    apart, together = np.ptp(belief.levels), np.ptp(drawn_together(belief))
    assert apart >= 4
    assert together <= apart / 2


def test_different_workers_keep_their_levels() -> None:
    belief = learnt(np.exp2(np.linspace(-1.0, 1.0, N)))
    np.testing.assert_allclose(drawn_together(belief), belief.levels, atol=1)


def test_one_worker_keeps_its_level() -> None:
    belief = learnt(np.ones(1))
    np.testing.assert_array_equal(drawn_together(belief), belief.levels)


def test_between_the_two_they_are_drawn_together_in_part() -> None:
    """Levels that differ about as much as their uncertainty explains."""
    belief = learnt(np.exp(0.12 * np.linspace(-1.0, 1.0, N)))
    kept = np.ptp(drawn_together(belief)) / np.ptp(belief.levels)
    assert 0.0 < kept < 1.0


def test_each_worker_has_everybody_s_shape_at_its_level() -> None:
    belief = learnt(np.repeat([1.0, 3.0], N // 2))
    law = shape_laws(belief, np.arange(N))
    np.testing.assert_allclose(law.sum(axis=1), 1.0)
    assert (law >= 0.0).all()
    np.testing.assert_allclose(medians(law), drawn_together(belief), atol=2)
    level = drawn_together(belief)
    slow, fast = int(np.argmax(level)), int(np.argmin(level))
    by = int(level[slow] - level[fast])
    assert by > 32  # over an octave
    np.testing.assert_allclose(law[slow, by : COUNT - 1], law[fast, : COUNT - 1 - by], atol=1e-12)


def test_rows_are_those_asked_for() -> None:
    belief = learnt(np.exp2(np.linspace(-1.0, 1.0, N)))
    some = np.array([1, 4, 9])
    np.testing.assert_array_equal(shape_laws(belief, some), shape_laws(belief, np.arange(N))[some])
