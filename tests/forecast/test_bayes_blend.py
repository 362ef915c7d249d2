"""Weights of the variants: the quadratic program, and the score that it minimizes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm

from tailcut.forecast.bayes import blend
from tailcut.forecast.trend.cells import COUNT, PER_OCTAVE
from tailcut.types import FloatArray


def normal_laws(*middles_and_spreads: tuple[float, float]) -> FloatArray:
    """`(variants, 1, cells)` normal laws in cells."""
    ends = np.arange(COUNT + 1)
    return np.stack([[np.diff(norm.cdf(ends, at, wide))] for at, wide in middles_and_spreads])


def semidefinite(rng: np.random.Generator, size: int, rank: int) -> FloatArray:
    root = rng.standard_normal((size, rank))
    return np.asarray(root @ root.T)


def by_search(matrix: FloatArray) -> FloatArray:
    """Solve the same program with a general solver."""
    size = len(matrix)
    found = minimize(
        lambda b: b @ matrix @ b,
        np.full(size, 1.0 / size),
        jac=lambda b: 2.0 * matrix @ b,
        bounds=[(0.0, 1.0)] * size,
        constraints={"type": "eq", "fun": lambda b: b.sum() - 1.0, "jac": lambda b: np.ones_like(b)},
        options={"ftol": 1e-14, "maxiter": 500},
        method="SLSQP",
    )
    return np.asarray(found.x)


@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_weights_are_the_minimum(size: int, rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blend, "LEAST_WEIGHT", 0.0)
    rng = np.random.default_rng(size * 10 + rank)
    for _ in range(20):
        cross, doubt = semidefinite(rng, size, rank), rng.uniform(0.01, 1.0)
        weights = blend.best_weights(cross, doubt)
        assert (weights >= 0.0).all()
        assert weights.sum() == pytest.approx(1.0)
        matrix = cross + doubt * np.trace(cross) / size * np.eye(size)
        np.testing.assert_allclose(weights, by_search(matrix), atol=1e-4)
        assert weights @ matrix @ weights <= (b := by_search(matrix)) @ matrix @ b + 1e-9 * np.trace(matrix)


def test_a_little_weight_is_none() -> None:
    # Independent errors: weights go as 1 / score, so 20 : 10 : 1 before the cut and 2 : 1 after.
    weights = blend.best_weights(np.diag([1.0, 2.0, 20.0]), 1e-12)
    np.testing.assert_allclose(weights, [2 / 3, 1 / 3, 0.0])


def test_doubt_draws_the_weights_together() -> None:
    cross = np.diag([1.0, 2.0, 3.0])
    spreads = [np.ptp(blend.best_weights(cross, doubt)) for doubt in (0.01, 0.5, 5.0, 500.0)]
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[-1] < 0.01


def test_before_any_score_all_count_alike() -> None:
    np.testing.assert_allclose(blend.best_weights(np.zeros((3, 3)), 1.0), 1 / 3)


def test_of_two_equal_variants_neither_is_preferred() -> None:
    cross = np.array([[1.0, 1.0, 0.8], [1.0, 1.0, 0.8], [0.8, 0.8, 2.0]])
    weights = blend.best_weights(cross, 0.01)
    assert weights[0] == pytest.approx(weights[1])


@pytest.mark.parametrize("observed", [True, False])
@pytest.mark.parametrize("at", [150.0, 151.3, 159.8])
def test_the_score_is_the_integral_over_seconds_up_to_the_close(at: float, observed: bool) -> None:
    shapes = ((150.0, 8.0), (156.0, 12.0), (145.0, 6.0))
    close = 170.0 if observed else at

    def reached(variant: int, position: float) -> float:
        return float(norm.cdf(position, *shapes[variant]))

    def weighted(u: int, v: int, position: float) -> float:
        share = np.mean([reached(k, position) for k in range(3)])
        seen = float(observed and position >= at)
        off = (reached(u, position) - seen) * (reached(v, position) - seen)
        per_cell = np.log(2.0) / PER_OCTAVE * 2.0 ** (position / PER_OCTAVE)  # seconds
        return float(off * per_cell / (share * (1.0 - share) + 0.5))

    exact = np.array(
        [
            [
                quad(lambda s, u=u, v=v: weighted(u, v, s), 60.0, close, points=[at], limit=200)[0]
                for v in range(3)
            ]
            for u in range(3)
        ]
    )
    found = blend.cross_scores(normal_laws(*shapes), np.array([at]), np.array([observed]), np.array([close]))
    assert np.trace(found) == pytest.approx(1.0)
    # A cell is 2 % wide; the close and the run time may fall anywhere in one.
    np.testing.assert_allclose(found, exact / np.trace(exact), rtol=0.05, atol=0.01)


@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_the_true_law_scores_best(spread: float) -> None:
    """Also against the same law half a cell and a cell to either side."""
    rng = np.random.default_rng(7)
    off = np.array([0.0, -1.0, -0.5, 0.5, 1.0])
    laws = normal_laws(*((150.0 + by, spread) for by in off.tolist()))
    total = np.zeros(len(off))
    for at in 150.0 + spread * rng.standard_normal(4000):
        cross = blend.cross_scores(laws, np.array([at]), np.array([True]), np.array([190.0]))
        total += np.diag(cross)
    assert off[total.argmin()] == 0.0


def test_a_perfect_forecast_has_no_error() -> None:
    laws = np.zeros((2, 1, COUNT))
    laws[0, 0, 100] = 1.0
    laws[1, 0, 110] = 1.0
    cross = blend.cross_scores(laws, np.array([100.5]), np.array([True]), np.array([150.0]))
    assert cross[0, 0] < 0.06 * cross[1, 1]
    assert blend.best_weights(cross, 0.01)[0] == pytest.approx(1.0)


def test_errors_that_add_up_count_more_than_errors_that_cancel() -> None:
    """Two workers; one variant is too late for both, the other too late for one and too early for the other."""
    late, early, right = (normal_laws((150.0 + by, 4.0))[0, 0] for by in (6.0, -6.0, 0.0))
    laws = np.stack([[late, late], [late, early], [right, right]])
    cross = np.zeros((3, 3))
    rng = np.random.default_rng(1)
    for _ in range(200):
        at = 150.0 + 4.0 * rng.standard_normal(2)
        cross += blend.cross_scores(laws, at, np.ones(2, np.bool_), np.full(2, 170.0))
    assert cross[2, 2] < cross[1, 1] < cross[0, 0]


def test_a_blend_is_the_weighted_mean() -> None:
    laws = np.random.default_rng(0).dirichlet(np.ones(COUNT), size=(3, 2))
    out = blend.blended(np.array([0.25, 0.0, 0.75]), laws)
    np.testing.assert_allclose(out, 0.25 * laws[0] + 0.75 * laws[2])
    out[:] = 0.0
    assert laws.sum() == pytest.approx(6.0)
