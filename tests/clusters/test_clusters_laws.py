"""Every law: draws, survival function, quantiles and mean say the same thing, and scipy agrees."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from tailcut.clusters import (
    CEDAR,
    NIAGARA,
    Deterministic,
    Gamma,
    Law,
    LogNormal,
    Mixture,
    ParetoTailed,
    Scaled,
    Shifted,
    ShiftedExponential,
    Sum,
    TruncatedNormal,
    Uniform,
    delayed,
)
from tailcut.types import FloatArray

CONTINUOUS: dict[str, Law] = {
    "uniform": Uniform(0.5, 2.0),
    "normal": TruncatedNormal(1.0, 0.2),
    "half normal": TruncatedNormal(0.0, 0.4),
    "log-normal": LogNormal(2.0, 0.3),
    "exponential": ShiftedExponential(0.5, 0.25),
    "gamma": Gamma(2.0, 0.5),
    "Pareto tail": ParetoTailed(1.0, 0.1, alpha=2.5, tail=0.1),
    "scaled": Scaled(LogNormal(1.0, 0.1), 3.0),
    "shifted": Shifted(LogNormal(0.4, 0.05), 0.32),
    "mixture": Mixture((LogNormal(1.0, 0.03), LogNormal(9.0, 0.03)), (0.9, 0.1)),
    "sum": Sum(LogNormal(1.0, 0.2), ShiftedExponential(0.0, 0.5)),
    "niagara": delayed(LogNormal(1.0, 0.02), NIAGARA),
    "cedar": delayed(LogNormal(0.25, 0.02), CEDAR),
}
each_law = pytest.mark.parametrize("law", CONTINUOUS.values(), ids=CONTINUOUS.keys())


def uniform_enough(u: FloatArray, slack: float = 0.0) -> bool:
    """Kolmogorov–Smirnov against uniform; fails by chance in one case in a million (Massart's bound)."""
    bound = math.sqrt(math.log(2e6) / (2 * len(u)))
    return bool(stats.kstest(u, "uniform").statistic <= bound + slack)


@each_law
def test_draws_follow_the_survival_function(law: Law) -> None:
    x = law.sample(np.random.default_rng(1), (100, 200))
    assert x.shape == (100, 200)
    assert x.min() > 0
    assert uniform_enough(law.survival(x.ravel()), slack=1e-3 if isinstance(law, Sum) else 0.0)


@each_law
def test_quantile_inverts_survival(law: Law) -> None:
    p = np.array([1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-6])
    assert np.allclose(1 - law.survival(law.quantile(p)), p, atol=1e-9)


@each_law
def test_survival_falls_from_one_to_zero(law: Law) -> None:
    s = law.survival(np.concatenate([[-1.0], np.geomspace(1e-3, 1e4, 500)]))
    assert s[0] == pytest.approx(1, abs=1e-12)
    assert (np.diff(s) <= 1e-12).all()
    assert (s >= 0).all()
    assert s[-1] < 1e-9


@each_law
def test_mean_is_the_integral_of_survival(law: Law) -> None:
    t = np.concatenate([np.linspace(0, 12, 20_000), np.geomspace(12, 1e6, 5_000)[1:]])
    assert np.trapezoid(law.survival(t), t) == pytest.approx(law.mean(), rel=1e-3)


@pytest.mark.parametrize(
    ("law", "reference"),
    [
        (Uniform(0.5, 2.0), stats.uniform(0.5, 1.5)),
        (TruncatedNormal(1.0, 0.7), stats.truncnorm(-1 / 0.7, np.inf, 1.0, 0.7)),
        (LogNormal(2.0, 0.3), stats.lognorm(0.3, scale=2.0)),
        (ShiftedExponential(0.5, 0.25), stats.expon(0.5, 0.25)),
        (Scaled(ShiftedExponential(0.5, 0.25), 2.0), stats.expon(1.0, 0.5)),
        (Sum(TruncatedNormal(5.0, 0.3), TruncatedNormal(5.0, 0.4)), stats.norm(10.0, 0.5)),
    ],
    ids=lambda law: type(law).__name__,
)
def test_scipy_agrees(law: Law, reference: stats.distributions.rv_frozen) -> None:
    p = np.linspace(0.001, 0.999, 99)
    at = reference.ppf(p)
    close = 1e-3 if isinstance(law, Sum) else 1e-9  # a sum is a quadrature
    assert np.allclose(law.survival(at), 1 - p, atol=close)
    assert np.allclose(law.quantile(p), at, rtol=close)
    assert law.mean() == pytest.approx(reference.mean(), rel=1e-9)


def test_the_tail_is_pareto_beyond_the_threshold_and_log_normal_below() -> None:
    law = ParetoTailed(1.0, 0.1, alpha=1.5, tail=0.05)
    q = law.threshold
    assert law.survival(np.array([q, 4 * q])) == pytest.approx([0.05, 0.05 / 8])
    assert law.survival(np.array([1.0])) == pytest.approx([0.5])
    assert ParetoTailed(alpha=1.0).mean() == math.inf


def test_a_constant_is_constant() -> None:
    law = Deterministic(2.0)
    assert law.survival(np.array([1.9, 2.0])).tolist() == [1.0, 0.0]
    assert law.quantile(np.array([0.1, 0.9])).tolist() == [2.0, 2.0]
    assert law.sample(np.random.default_rng(0), (3,)).tolist() == [2.0] * 3
    assert law.mean() == 2.0


def test_rare_parts_of_a_mixture_are_landmarks_like_frequent_ones() -> None:
    marks = Mixture((LogNormal(1.0, 0.03), LogNormal(9.0, 0.03)), (0.99, 0.01)).landmarks()
    assert np.mean(marks > 5) == 0.5


def test_the_delay_of_a_row_is_drawn_given_that_it_is_positive() -> None:
    x = delayed(Deterministic(1.0), NIAGARA).sample(np.random.default_rng(3), (50_000,))
    assert x.min() == 1.0
    # Standard errors are about 0.002; five of them.
    assert np.mean(x == 1.0) == pytest.approx(0.4, abs=0.011)
    assert np.mean((x > 1.0) & (x < 2.2)) == pytest.approx(0.3, abs=0.011)
    assert np.mean(x > 4.5) == pytest.approx(0.1, abs=0.007)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogNormal(1.0, -0.1), r"sigma must be > 0 and finite, but got -0\.1; give"),
        (lambda: LogNormal(0.0), "median must be > 0"),
        (lambda: TruncatedNormal(math.nan, 1.0), "mu must be >= 0 and finite, but got nan"),
        (lambda: ShiftedExponential(-1.0), "shift must be >= 0"),
        (lambda: ParetoTailed(tail=1.5), "tail must be > 0 and at most 1, but got 1.5"),
        (lambda: Uniform(2.0, 1.0), "high must exceed low = 2, but got 1.0"),
        (lambda: Deterministic(-1.0), "value must be >= 0"),
        (lambda: Scaled(LogNormal(), 0.0), "factor must be > 0"),
        (lambda: Shifted(LogNormal(), -1.0), "by must be >= 0"),
        (lambda: Mixture((LogNormal(),), (0.5,)), r"sum to 1, but got \(0\.5,\)"),
        (lambda: Mixture((), ()), "A mixture of 0 laws"),
    ],
)
def test_impossible_parameters_are_refused(make: Callable[[], Law], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
