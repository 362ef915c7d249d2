"""DBW: the descent lemma with known constants, monotone fits against scipy, and the choice by brute force."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, final

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from tailcut.clusters import Iid, LogNormal
from tailcut.engines.simulated import replay
from tailcut.errors import ParameterError
from tailcut.forecast import NoForecast
from tailcut.policy import Policy, PolicyState, PolicyWrapper
from tailcut.rules import Dbw, Opening
from tailcut.rules.dbw import DbwMemory
from tailcut.rules.descent import Descent, Step, after, curvature, gains
from tailcut.rules.waiting import Waits, arrival_times, expected, increasing
from tailcut.rules.waiting import after as waited
from tailcut.types import Fate, FloatArray, Measured, Roster, RoundRecord, RunTimes

INF = math.inf


def record(
    arrivals: list[float],
    seconds: list[float],
    fates: list[Fate] | None = None,
    elapsed: float = 1.0,
    measured: Measured | None = None,
) -> RoundRecord:
    n, came = len(arrivals), np.isfinite(arrivals)
    fate = [Fate.USED if c else Fate.ABANDONED for c in came] if fates is None else fates
    return RoundRecord(
        version=0,
        opened=0.0,
        elapsed=elapsed,
        overhead=0.0,
        roster=Roster.of(n),
        arrivals=np.array(arrivals),
        accepted=came.astype(np.int64),
        shares=np.ones(n),
        fates=np.array(fate, dtype=np.int64),
        run_times=RunTimes(np.arange(n), np.array(seconds), np.ones(n, np.bool_), np.full(n, -1)),
        staleness=np.zeros(int(came.sum()), np.int64),
        measured=measured,
    )


# Times.


@pytest.mark.parametrize("seed", range(20))
def test_the_monotone_fit_is_that_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=(rng.integers(1, 9), 5)), rng.uniform(0.2, 4.0, 8)
    found = increasing(values, weights[: len(values)])
    for column, fitted in zip(values.T, found.T, strict=True):
        np.testing.assert_allclose(fitted, isotonic_regression(column, weights=weights[: len(values)]).x)


def test_the_fit_increases_in_k_and_decreases_in_what_was_waited_for() -> None:
    rng = np.random.default_rng(0)
    rows = tuple(np.sort(rng.lognormal(size=6)) for _ in range(40))
    before = tuple(int(h) for h in rng.integers(2, 7, 40))
    waits = Waits(rows, before, last=3)
    fits = np.array([expected(waits, 6, h) for h in range(2, 7)])
    assert (np.diff(fits, axis=1) >= 0.0).all()
    assert (np.diff(fits, axis=0) <= 1e-12).all()
    # No monotone table is nearer to the rows: the gradient of the squares vanishes along the fit and along constants.
    wanted = np.array([fits[h - 2] for h in before])
    residual = np.array(rows) - wanted
    assert abs(float((residual * wanted).sum())) < 1e-9
    assert np.abs(residual.sum(axis=0)).max() < 1e-9


def test_where_late_work_is_abandoned_what_was_waited_for_means_nothing() -> None:
    waits = Waits((np.array([1.0, 2.0]), np.array([3.0, 6.0])), (1, 2), last=2)
    together = expected(waits, 2, None)
    assert together is not None
    assert together.tolist() == [2.0, 4.0]


def test_a_number_not_waited_for_before_lies_between() -> None:
    waits = Waits((np.array([4.0, 8.0]), np.array([2.0, 4.0])), (2, 6), last=6)
    for before, wanted in (
        (1, [4.0, 8.0]),
        (2, [4.0, 8.0]),
        (4, [3.0, 6.0]),
        (6, [2.0, 4.0]),
        (9, [2.0, 4.0]),
    ):
        found = expected(waits, 2, before)
        assert found is not None
        assert found.tolist() == wanted


def test_before_the_first_round_there_are_no_times() -> None:
    assert expected(Waits(), 4, None) is None
    assert expected(Waits(), 4, 0) is None


def test_rounds_of_other_workers_are_told_by_their_shares() -> None:
    waits = Waits((np.array([1.0, 2.0, 3.0, 4.0]),), (4,), last=4)
    found = expected(waits, 8, None)
    assert found is not None
    assert len(found) == 8
    assert (np.diff(found) >= 0.0).all()
    assert (found[0], found[-1]) == (1.0, 4.0)
    halves = expected(waits, 2, None)
    assert halves is not None
    assert halves.tolist() == [1.5, 3.5]


def test_when_gradients_came_or_would_have_come() -> None:
    # In; out, with a run time; a run time that the round outlasted, for it began late; not begun; left; rejected.
    fates = [Fate.USED, Fate.ABANDONED, Fate.PENDING, Fate.UNSTARTED, Fate.LOST, Fate.REJECTED]
    seen = record([0.7, INF, INF, INF, INF, INF], [0.7, 2.5, 0.4, 0.6, 9.0, 0.3], fates, elapsed=1.0)
    assert arrival_times(seen).tolist() == [0.3, 0.7, 1.0, 1.6, 2.5]
    nobody = RunTimes(np.empty(0, np.int64), np.empty(0), np.empty(0, np.bool_), np.empty(0, np.int64))
    assert arrival_times(replace(seen, run_times=nobody)).tolist() == [0.0, 0.7, 1.0, 1.0, 1.0]
    shuffled = RunTimes(np.array([9, 1, 0]), np.array([8.0, 2.5, 0.7]), np.ones(3, np.bool_), np.full(3, -1))
    assert arrival_times(replace(seen, run_times=shuffled))[-1] == 2.5


def test_only_the_window_is_kept_and_the_first_round_follows_nobody() -> None:
    waits = Waits()
    for count in (3, 1, 2, 2):
        waits = waited(waits, record([0.5 if i < count else INF for i in range(3)], [0.5, 1.0, 2.0]), 3)
    assert (len(waits.rows), waits.before, waits.last) == (3, (3, 1, 2), 2)
    first = waited(Waits(), record([0.5, INF, INF], [0.5, 1.0, 2.0]), 3)
    assert first.before == (3,)


# Gains.


def measured(loss: float, gradient: float, variance: float, count: int, rate: float) -> Measured:
    """Gradients of batch 8 with exactly these moments, looked at one by one."""
    return Measured(loss, 8 * count, 8, gradient + variance / count, gradient + variance, 8, rate)


def test_the_curvature_of_a_quadratic_is_recovered() -> None:
    """F = L·|x|²/2, plain gradient descent: the lemma holds with equality."""
    bend, rate, x, known = 3.0, 0.2, 5.0, Descent()
    for _ in range(6):
        known = after(known, measured(bend * x * x / 2, (bend * x) ** 2, 0.0, 4, rate), 5)
        x -= rate * bend * x
    assert len(known.bends) == 5
    assert known.bends == pytest.approx([bend] * 5)


@pytest.mark.parametrize("count", [2, 8])
def test_the_curvature_of_a_noisy_quadratic_is_recovered_on_average(count: int) -> None:
    bend, rate, size, rng = 2.0, 0.1, 400, np.random.default_rng(0)
    spread, x, known = 1.0, np.full(400, 1.0), Descent()
    bends = []
    for _ in range(400):
        gradients = bend * x + spread * rng.standard_normal((count, size))
        mean = gradients.mean(axis=0)
        seen = Measured(
            float(bend * x @ x / 2),
            8 * count,
            8,
            float(mean @ mean),
            float((gradients**2).sum(1).mean()),
            8,
            rate,
        )
        known = after(known, seen, 5)
        bends.append(sum(known.bends) / len(known.bends) if known.bends else math.nan)
        x = x - rate * mean
    assert np.nanmean(bends) == pytest.approx(bend, rel=0.1)
    assert np.mean(known.variances) == pytest.approx(size * spread**2, rel=0.15)


def test_the_gain_of_the_descent_lemma() -> None:
    known = Descent((3.0, 5.0), (8.0, 12.0), (1.0, 3.0), Step(1.0, 5.0, 2.0, rate=0.1))
    bend, rate, gradient, variance = 2.0, 0.1, 4.0, 10.0
    found = gains(known, 6)
    assert found is not None
    for k in range(1, 7):
        wanted = (rate - bend * rate**2 / 2) * gradient - bend * rate**2 / 2 * variance / k
        assert found[k - 1] == pytest.approx(wanted)


def test_a_negative_curvature_counts_as_none() -> None:
    known = Descent((4.0,), (8.0,), (-5.0,), Step(1.0, 4.0, 2.0, rate=0.1))
    found = gains(known, 3)
    assert found is not None
    assert found.tolist() == pytest.approx([0.4] * 3)


def test_with_one_gradient_the_variance_is_what_it_was() -> None:
    alone = Measured(0.9, 8, 8, 12.0, 12.0, 8, 0.1)
    assert after(Descent(), alone, 5) == Descent(), "and without any nothing is known"
    known = after(Descent(), measured(1.0, 4.0, 6.0, 3, 0.1), 5)
    later = after(known, alone, 5)
    assert later.variances == known.variances == pytest.approx((6.0,))
    assert later.gradients[-1] == pytest.approx(12.0 - 6.0)


@pytest.mark.parametrize(
    "useless",
    [
        None,
        Measured(math.nan, 32, 8, 2.0, 3.0, 8, 0.1),
        Measured(1.0, 32, 8, INF, 3.0, 8, 0.1),
        Measured(1.0, 32, 8, 2.0, 3.0, 8, 0.0),
        Measured(1.0, 0, 8, 2.0, 3.0, 8, 0.1),
        Measured(1.0, 32, 0, 2.0, 3.0, 8, 0.1),
    ],
)
def test_an_update_that_tells_nothing_changes_nothing(useless: Measured | None) -> None:
    known = after(Descent(), measured(1.0, 4.0, 6.0, 3, 0.1), 5)
    assert after(known, useless, 5) == known


def test_an_update_that_moved_nothing_has_no_curvature() -> None:
    assert curvature(Step(1.0, 0.0, 0.0, 0.1), 0.9) is None


# The rule.


def taught(times: FloatArray, seen: list[Measured]) -> DbwMemory:
    rule = Dbw()
    memory = rule.start()
    for each in seen:
        memory = rule.learn(memory, 0, record(times.tolist(), times.tolist(), elapsed=9.0, measured=each))
    return memory


TIMES = np.array([1.0, 1.1, 1.2, 1.4, 2.0, 2.2, 5.0, 20.0])


def losses(bend: float, gradient: float, variance: float, rate: float) -> list[Measured]:
    """Updates after which the lemma gives this curvature."""
    drop = rate * gradient - bend * rate**2 / 2 * (gradient + variance / 4)
    return [measured(9.0 - drop * t, gradient, variance, 4, rate) for t in range(6)]


@pytest.mark.parametrize("variance", [0.1, 3.0, 30.0, 60.0])
@pytest.mark.parametrize("overhead", [0.0, 0.7])
def test_it_waits_for_the_k_of_the_largest_gain_per_second(variance: float, overhead: float) -> None:
    bend, gradient, rate = 4.0, 2.0, 0.1
    memory = taught(TIMES, losses(bend, gradient, variance, rate))
    plan = Dbw().plan(memory, Opening(Roster.of(8), None, overhead))
    gained = [(rate - bend * rate**2 / 2) * gradient - bend * rate**2 / 2 * variance / k for k in range(1, 9)]
    by_hand = [gain / (time + overhead) for gain, time in zip(gained, TIMES, strict=True)]
    assert plan == int(np.argmax(by_hand)) + 1
    assert max(gained) > 0.0


def test_more_noise_makes_it_wait_for_more() -> None:
    plans = [
        Dbw().plan(taught(TIMES, losses(4.0, 2.0, variance, 0.1)), Opening(Roster.of(8), None))
        for variance in (0.1, 3.0, 8.0, 30.0, 60.0)
    ]
    assert plans == sorted(plans)
    assert plans[0] < plans[-1]


def test_if_no_gain_is_positive_it_waits_for_all() -> None:
    memory = taught(TIMES, losses(40.0, 2.0, 3.0, 0.1))
    assert Dbw().plan(memory, Opening(Roster.of(8), None)) == 8


def test_while_the_effect_of_an_update_is_unknown_it_waits_for_all() -> None:
    memory = taught(TIMES, losses(4.0, 2.0, 3.0, 0.1)[:1])
    assert Dbw().plan(memory, Opening(Roster.of(8), None)) == 8
    rule = Dbw()
    assert rule.plan(rule.start(), Opening(Roster.of(8), None)) == 8


def test_without_gradients_it_maximises_throughput() -> None:
    times = Iid(LogNormal(sigma=0.6), n=12).sample(200, np.random.default_rng(0)).table
    run = replay(times, Policy(NoForecast(), Dbw(window=60)), sees_all=True, overhead=0.1)
    means = np.sort(times.seconds, axis=1).mean(axis=0)
    best = int(np.argmax(np.arange(1, 13) / (means + 0.1))) + 1
    assert run.counts[0] == 12
    assert abs(np.mean(run.counts[80:]) - best) < 1.0


@final
class Losing(PolicyWrapper):
    """Tells the policy of updates with these moments, a curvature, and the loss that follows from them."""

    def __init__(self, inner: Policy, variance: float) -> None:
        super().__init__(inner)
        self._variance, self._loss = variance, 9.0

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        seen = measured(self._loss, 2.0, self._variance, max(record.count, 2), 0.1)
        self._loss -= 0.1 * 2.0 - 4.0 * 0.1**2 / 2 * (2.0 + self._variance / max(record.count, 2))
        return self.inner.learn(state, plan, replace(record, measured=seen), reports)


@pytest.mark.parametrize("late_finish", [False, True])
def test_in_a_run_few_are_enough_with_little_noise(late_finish: bool) -> None:
    times = Iid(LogNormal(sigma=0.5), n=12).sample(120, np.random.default_rng(3)).table
    runs = [
        replay(times, Losing(Policy(NoForecast(), Dbw()), variance), sees_all=True, late_finish=late_finish)
        for variance in (0.01, 60.0)
    ]
    assert runs[0].counts[30:].mean() + 2.0 < runs[1].counts[30:].mean()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"window": 0}, "window must be at least 1 round, but got 0"),
        ({"average": 0}, "average must be at least 1 update, but got 0"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, int], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Dbw(**parameters)
