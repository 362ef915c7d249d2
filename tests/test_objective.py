"""The value of gradients: closed forms, limits, and expectations against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.clusters import Iid, LogNormal, Mixture, ParetoTailed, Scaled
from tailcut.engines.simulated import replay
from tailcut.errors import ParameterError
from tailcut.forecast import Truth
from tailcut.objective import Count, Gain, Objective
from tailcut.order import exact_order_means, rate_curve
from tailcut.policy import Policy
from tailcut.rules import Ahead, Opening, Stopping
from tailcut.types import Close, FloatArray, Forecast, Progress, Roster

COUNTS = np.arange(0.0, 33.0)
NOISES = (0.0, 1e-3, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0, 1e4, 1e9, math.inf)
chances = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20).map(np.array)
fadings = st.floats(0.0, 1.0)


def of(fading: float) -> Gain:
    """The gain whose u is given."""
    return Gain(1.0 / fading - 1.0 if fading else math.inf, 1.0)


def law_of(arrives: FloatArray) -> FloatArray:
    """Return the law of the number of independent arrivals."""
    law = np.ones(1)
    for chance in arrives:
        law = np.convolve(law, [1.0 - chance, chance])
    return law


def moments(arrives: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.array([arrives.sum()]), np.array([(arrives * (1.0 - arrives)).sum()])


@pytest.mark.parametrize("batch", [1.0, 32.0])
@pytest.mark.parametrize("noise", [0.5, 96.0, 4000.0])
def test_values_are_proportional_to_the_decrease_of_the_loss(noise: float, batch: float) -> None:
    samples = COUNTS[1:] * batch
    decrease = samples / (samples + noise)
    np.testing.assert_allclose(
        Gain(noise, batch).value(COUNTS[1:]), decrease / decrease[0], rtol=1e-12, atol=0.0
    )
    assert Gain(noise, batch).value(COUNTS)[0] == 0.0


@pytest.mark.parametrize("noise", NOISES)
def test_the_first_gradient_is_worth_one_and_none_nothing(noise: float) -> None:
    values = Gain(noise, 8.0).value(COUNTS)
    assert values[:2].tolist() == [0.0, 1.0]
    assert (np.diff(values) >= 0.0).all()
    # Each further one is worth no more than the one before.
    assert (np.diff(values, 2) <= 1e-12).all()


def test_where_noise_dominates_the_gain_is_the_count() -> None:
    gain, mean = Gain(math.inf, 32.0), np.array([0.0, 0.3, 7.5])
    assert gain.value(COUNTS).tolist() == COUNTS.tolist()
    assert gain.expected(mean, np.ones(3)).tolist() == Count().expected(mean, np.ones(3)).tolist()
    assert not gain.needs_variance
    np.testing.assert_allclose(Gain(1e300, 1e-5).value(COUNTS), COUNTS)
    np.testing.assert_allclose(Gain(1e12, 1.0).value(COUNTS), COUNTS, rtol=1e-9)


def test_without_noise_one_gradient_is_worth_all() -> None:
    gain = Gain(0.0, 32.0)
    assert gain.value(COUNTS).tolist() == [0.0] + [1.0] * 32
    assert gain.needs_variance
    # P(N > 0): one worker, a certain count, many.
    arrived = gain.expected(np.array([0.0, 0.3, 3.0, 8.0]), np.array([0.0, 0.21, 0.0, 4.0]))
    assert arrived.tolist() == pytest.approx([0.0, 0.3, 1.0, 1.0 - 0.5**16], abs=5e-4)
    assert Gain(5e-324, 1e300).value(COUNTS).tolist() == gain.value(COUNTS).tolist()


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("n", [1, 2, 8, 32, 158])
def test_the_expected_value_with_workers_that_are_alike(n: int, noise: float) -> None:
    gain, counts = Gain(noise, 1.0), np.arange(n + 1.0)
    arrives = np.linspace(0.0, 1.0, 41)
    exact = np.array([law_of(np.full(n, chance)) @ gain.value(counts) for chance in arrives])
    found = gain.expected(n * arrives, n * arrives * (1.0 - arrives))
    np.testing.assert_allclose(found, exact, rtol=0.015, atol=1e-12)
    assert (np.diff(found) >= -1e-12).all()


@settings(deadline=None, max_examples=300)
@given(chances, fadings)
def test_the_expected_value_against_brute_force(arrives: FloatArray, fading: float) -> None:
    gain, counts = of(fading), np.arange(len(arrives) + 1.0)
    exact = float(law_of(arrives) @ gain.value(counts))
    found = float(gain.expected(*moments(arrives))[0])
    assert found <= exact * (1 + 1e-9) + 1e-12, "never too much"
    assert found >= 0.92 * exact


@settings(deadline=None, max_examples=300)
@given(chances, st.floats(0.0, 1.0), fadings)
def test_waiting_longer_never_lowers_the_expected_value(
    arrives: FloatArray, part: float, fading: float
) -> None:
    """Each worker's arrival probability grows with time; the expected value falls by its error at most.

    The true value grows, and the computed one lies between 0.92 of it and all of it (the test above).
    """
    gain = of(fading)
    later = arrives + part * (1.0 - arrives)
    sooner, then = (float(gain.expected(*moments(each))[0]) for each in (arrives, later))
    assert then >= 0.92 * sooner


@settings(deadline=None, max_examples=300)
@given(st.floats(0.0, 1e4), st.floats(0.0, 1e6), fadings)
def test_the_expected_value_is_bounded_whatever_the_moments(
    mean: float, variance: float, fading: float
) -> None:
    """Even for moments no count can have: between 0 and the value of the mean, at most ΔL_max."""
    gain = of(fading)
    found = float(gain.expected(np.array([mean]), np.array([variance]))[0])
    assert 0.0 <= found <= float(gain.value(np.array([mean]))[0]) * (1 + 1e-9)
    assert found * gain.fading <= 1.0 + 1e-9


def test_a_certain_count_has_its_own_value() -> None:
    gain = Gain(50.0, 8.0)
    np.testing.assert_array_equal(gain.expected(COUNTS, np.zeros(33)), gain.value(COUNTS))


@pytest.mark.parametrize(
    ("noise", "batch", "sentence"),
    [
        (-1.0, 8.0, "noise must be 0 or more samples, but got -1.0"),
        (math.nan, 8.0, "noise must be 0 or more samples, but got nan"),
        (1.0, 0.0, "batch must be over 0 and finite, but got 0.0"),
        (1.0, math.inf, "batch must be over 0 and finite, but got inf"),
        (1.0, math.nan, "batch must be over 0 and finite, but got nan"),
    ],
)
def test_impossible_parameters_are_refused(noise: float, batch: float, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Gain(noise, batch)


# The cutoff of a known law: from a few workers without noise to that of the throughput where noise dominates.

N, BATCH = 32, 8.0
GRID = np.linspace(0.01, 12.0, 3000)


def known_law(kind: str) -> FloatArray:
    """`(times,)` survival of each worker: 1 + exponential, or log-normal."""
    if kind == "exponential":
        return np.where(GRID > 1.0, np.exp(-np.maximum(GRID - 1.0, 0.0) / 0.5), 1.0)
    return np.array([0.5 * math.erfc(math.log(t) / 0.5 / math.sqrt(2.0)) for t in GRID])


def best_by_hand(kind: str, noise: float, overhead: float) -> int:
    """Brute-force argmax of [c·m/(c·m + B)] / (E[x_(c)] + o), nothing shared with the rule."""
    times = exact_order_means(GRID, known_law(kind), N)
    rates = [
        (1.0 if math.isinf(noise) else 1.0 / (c * BATCH + noise)) * c * BATCH / (times[c - 1] + overhead)
        for c in range(1, N + 1)
    ]
    return int(np.argmax(rates)) + 1


def ahead(kind: str, objective: Objective, overhead: float) -> int:
    forecast = Forecast.independent(np.arange(N), GRID, known_law(kind))
    chosen = Ahead(objective).plan(None, Opening(Roster.of(N), forecast, overhead))
    assert chosen is not None
    return chosen


@pytest.mark.parametrize("overhead", [0.0, 0.4])
@pytest.mark.parametrize("kind", ["exponential", "log-normal"])
def test_the_cutoff_grows_with_the_noise_as_theory_says(kind: str, overhead: float) -> None:
    noises = [0.0, *(BATCH * 2.0 ** np.arange(-4, 14)), math.inf]
    chosen = [ahead(kind, Gain(noise, BATCH), overhead) for noise in noises]
    assert chosen == [best_by_hand(kind, noise, overhead) for noise in noises]
    assert chosen == sorted(chosen)
    assert chosen[0] == 1
    assert chosen[-1] == ahead(kind, Count(), overhead) > N // 2
    assert len(set(chosen)) > 8, "it passes through many cutoffs on the way"
    times = exact_order_means(GRID, known_law(kind), N)
    assert chosen[-1] == np.argmax(rate_curve(np.arange(1.0, N + 1), times, overhead)) + 1


def closing_count(kind: str, objective: Objective) -> int:
    """Return the count at which the stopping rule closes when each worker arrives exactly when expected."""
    rule = Stopping(objective, skip=0.0)
    forecast = Forecast.independent(np.arange(N), GRID, known_law(kind))
    plan = rule.plan(rule.start(), Opening(Roster.of(N), forecast, 0.4))
    times = exact_order_means(GRID, known_law(kind), N)
    for count in range(1, N + 1):
        arrivals = np.where(np.arange(N) < count, times, np.inf)
        if count == N or isinstance(
            rule.decide(plan, Progress(times[count - 1], arrivals, np.zeros(N, np.bool_), count)), Close
        ):
            return count
    raise AssertionError


@pytest.mark.parametrize("kind", ["exponential", "log-normal"])
def test_stopping_takes_more_as_noise_grows_too(kind: str) -> None:
    noises = [0.0, *(BATCH * 2.0 ** np.arange(-3, 13)), math.inf]
    taken = [closing_count(kind, Gain(noise, BATCH)) for noise in noises]
    assert taken == sorted(taken)
    assert taken[0] == 1
    assert taken[-1] == closing_count(kind, Count())
    best = [best_by_hand(kind, noise, 0.4) for noise in noises]
    assert np.abs(np.subtract(taken, best)).max() <= 2


BODY = LogNormal(1.0, 0.03)
LAWS = {
    "some slow": Iid(Mixture((BODY, Scaled(BODY, 9.0)), (0.9, 0.1)), n=8),
    "log-normal": Iid(LogNormal(sigma=0.5), n=16),
    "heavy tail": Iid(ParetoTailed(), n=16),
}


@pytest.mark.parametrize("noise", [1.0, 5.0, 30.0])
@pytest.mark.parametrize("law", LAWS)
def test_stopping_is_no_worse_than_the_best_fixed_cutoff_of_the_same_objective(
    law: str, noise: float
) -> None:
    """The comparison is on the same run times: value per second of the best c, known only in hindsight."""
    cluster, gain = LAWS[law], Gain(noise, 1.0)
    sample = cluster.sample(150, np.random.default_rng(0))
    ordered = np.sort(sample.table.seconds, axis=1).mean(axis=0)
    best = float((gain.value(np.arange(1.0, cluster.n + 1)) / (ordered + 0.2)).max())
    policy = Policy(Truth(cluster.law, sample.hidden), Stopping(gain))
    run = replay(sample.table, policy, overhead=0.2)
    reached = gain.value(run.counts.astype(float)).sum() / float((run.elapsed + 0.2).sum())
    assert reached >= 0.99 * best
    if law == "some slow":
        assert reached > 1.02 * best, "a deadline can do what no cutoff can"
