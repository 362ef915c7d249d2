from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.errors import ParameterError
from tailcut.rules.base import Opening
from tailcut.rules.micro import MicroDeadline, best_deadline, best_threshold
from tailcut.types import Fate, FloatArray, Forecast, Progress, Roster, RoundRecord, RunTimes, Wait


def record(seconds: FloatArray, overhead: float = 0.0, observed: FloatArray | None = None) -> RoundRecord:
    n = len(seconds)
    seen = np.ones(n, dtype=np.bool_) if observed is None else observed.astype(np.bool_)
    roster = Roster.of(n)
    return RoundRecord(
        version=0,
        opened=0.0,
        elapsed=float(seconds.max()),
        overhead=overhead,
        roster=roster,
        arrivals=seconds,
        accepted=np.ones(n, dtype=np.int64),
        shares=np.ones(n),
        fates=np.full(n, int(Fate.USED)),
        run_times=RunTimes(roster.workers, seconds, seen, roster.nodes),
        staleness=np.zeros(n, dtype=np.int64),
    )


def deadlines(rule: MicroDeadline, rows: FloatArray, overhead: float = 0.0) -> list[float | None]:
    """The deadline of each round, and of the one after the last."""
    memory, opening = rule.start(), Opening(Roster.of(rows.shape[1]), None, overhead)
    chosen = [rule.worker_deadline(rule.plan(memory, opening))]
    for row in rows:
        memory = rule.learn(memory, rule.plan(memory, opening), record(row, overhead))
        chosen.append(rule.worker_deadline(rule.plan(memory, opening)))
    return chosen


def effective_speed_up(rows: FloatArray, overhead: float, micro: int, tau: float) -> float:
    """The paper's formula, worker by worker and part by part."""
    gains = []
    for row in rows:
        a = [x * m / micro for x in row for m in range(1, micro + 1)]
        raw = max(row) + overhead
        kept = [done for done in a if done < tau]
        saved = max(a) - max(kept, default=0.0)
        gains.append((len(kept) / len(a)) / (1 - saved / raw) - 1 if kept else -1.0)
    return float(np.mean(gains))


def forecast(*curves: list[float], times: list[float]) -> Forecast:
    return Forecast.independent(np.arange(len(curves)), np.array(times), np.array(curves))


def test_it_waits_for_all() -> None:
    rule = MicroDeadline(threshold=1.0)
    plan = rule.plan(rule.start(), Opening(Roster.of(2), None))
    assert rule.decide(plan, Progress(1.0, np.array([1.0, np.inf]), np.zeros(2, np.bool_), 1)) == Wait()


def test_a_given_deadline_holds_from_the_first_round_on() -> None:
    assert deadlines(MicroDeadline(threshold=1.5, window=1), np.ones((3, 2))) == [1.5] * 4


def test_the_deadline_is_chosen_once_after_the_window() -> None:
    rng = np.random.default_rng(0)
    rows = rng.lognormal(0.0, 0.5, (12, 16))
    chosen = deadlines(MicroDeadline(window=5), rows)
    assert chosen[:5] == [None] * 5
    assert chosen[5] is not None
    assert set(chosen[5:]) == {chosen[5]}


@pytest.mark.parametrize("micro", [1, 4, 8])
@pytest.mark.parametrize("overhead", [0.0, 0.5])
def test_the_deadline_has_the_largest_mean_effective_speed_up(micro: int, overhead: float) -> None:
    rows = np.random.default_rng(3).lognormal(0.0, 0.6, (6, 10))
    tau = best_threshold(tuple(rows), (overhead,) * len(rows), micro)
    best = effective_speed_up(rows, overhead, micro, tau)
    others = [effective_speed_up(rows, overhead, micro, other) for other in np.geomspace(0.1, 10.0, 300)]
    assert best >= max(others) - 0.01
    assert best > 0


def test_a_straggler_is_cut_and_steady_workers_are_not() -> None:
    straggler = np.array([1.0] * 15 + [10.0])
    tau = best_threshold((straggler,) * 3, (0.0,) * 3, micro=8)
    assert 1.0 < tau < 2.0
    steady = np.linspace(1.0, 1.01, 16)
    assert best_threshold((steady,) * 3, (0.2,) * 3, micro=8) > 1.01


def test_nothing_is_dropped_for_nothing() -> None:
    # Without overhead, workers of one speed do as much per second until any deadline.
    assert best_threshold((np.ones(4),), (0.0,), micro=8) > 1.0


def test_nobody_goes_on_in_vain() -> None:
    # Any deadline between 1 and 9 seconds leaves the same three micro-batches.
    assert best_threshold((np.array([1.0, 1.0, 1.0, 9.0]),), (0.0,), micro=1) < 1.1


def test_censored_times_are_not_recorded() -> None:
    rule = MicroDeadline(window=1)
    row = np.array([1.0, 1.1, 0.9, 50.0])
    memory = rule.learn(rule.start(), None, record(row, observed=np.array([1, 1, 1, 0])))
    plain = rule.learn(rule.start(), None, record(row[:3]))
    assert memory.threshold == plain.threshold
    nothing = rule.learn(rule.start(), None, record(row, observed=np.zeros(4)))
    assert nothing.threshold is None


def test_following_has_no_deadline_without_a_forecast() -> None:
    rule = MicroDeadline(follow=True)
    assert rule.plan(rule.start(), Opening(Roster.of(2), None)) is None


def test_following_learns_from_the_forecast_alone() -> None:
    rule = MicroDeadline(follow=True, window=1)
    memory = rule.start()
    assert rule.learn(memory, None, record(np.ones(2))) is memory


def test_following_cuts_a_worker_that_is_expected_late() -> None:
    times = [0.99, 1.0, 4.99, 5.0]
    prompt, late = [1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]
    rule = MicroDeadline(micro=5, follow=True)
    mixed = rule.plan(
        rule.start(), Opening(Roster.of(4), forecast(prompt, prompt, prompt, late, times=times))
    )
    assert mixed == 1.0
    alike = rule.plan(rule.start(), Opening(Roster.of(4), forecast(late, late, late, late, times=times), 1.0))
    assert alike == 5.0


def test_following_weighs_the_overhead() -> None:
    times = [0.99, 1.0, 4.99, 5.0]
    curves = forecast([1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], times=times)
    assert [best_deadline(curves, 1, overhead) for overhead in (0.0, 10.0)] == [1.0, 5.0]


def test_following_reaches_the_rate_of_a_simulation() -> None:
    rng = np.random.default_rng(7)
    rows = rng.lognormal(0.0, 0.5, (4000, 8))
    times = np.geomspace(0.1, 8.0, 120)
    survival = (rows[:, :, None] > times).mean(axis=(0, 1))
    tau = best_deadline(Forecast.independent(np.arange(8), times, survival), 4, 0.2)

    def rate(d: float) -> float:
        shares = np.minimum(np.floor(4 * d / rows + 1e-12), 4) / 4
        return float(shares.sum() / (np.minimum(rows.max(axis=1), d) + 0.2).sum())

    assert rate(tau) > 0.995 * max(rate(d) for d in times)


@given(power=st.integers(-20, 20), seed=st.integers(0, 50))
@settings(max_examples=20, deadline=None)
def test_the_unit_of_time_scales_the_deadline_exactly(power: int, seed: int) -> None:
    rows, scale = np.random.default_rng(seed).lognormal(0.0, 0.6, (5, 6)), 2.0**power
    plain = best_threshold(tuple(rows), (0.1,) * 5, 8)
    assert best_threshold(tuple(rows * scale), (0.1 * scale,) * 5, 8) == plain * scale
    times = np.geomspace(0.1, 8.0, 64)
    survival = (rows.ravel()[:, None] > times).mean(axis=0)
    curves = [Forecast.independent(np.arange(6), times * by, survival) for by in (1.0, scale)]
    assert best_deadline(curves[1], 8, 0.1 * scale) == best_deadline(curves[0], 8, 0.1) * scale


def test_the_finer_the_micro_batches_the_more_is_gained() -> None:
    straggler = np.array([1.0] * 6 + [3.0, 3.0])
    gains = [
        effective_speed_up(straggler[None], 0.0, micro, best_threshold((straggler,), (0.0,), micro))
        for micro in (1, 2, 4, 8)
    ]
    assert all(more >= fewer - 1e-9 for fewer, more in pairwise(gains))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"micro": 0}, "micro must be at least 1, but got 0"),
        ({"window": 0}, "window must be at least 1 round, but got 0"),
        ({"threshold": 0.0}, "threshold must be over 0 seconds and finite, but got 0.0"),
        ({"threshold": math.inf}, "but got inf"),
        ({"threshold": 1.0, "follow": True}, "exclude each other"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        MicroDeadline(**parameters)  # type: ignore[arg-type]
