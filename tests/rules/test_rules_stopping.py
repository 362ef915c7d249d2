"""The stopping rule: what it waits for, what it gives up on, and how close it comes to dynamic programming."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.optimal import laws, shares

from tailcut.errors import ParameterError
from tailcut.rules import Ahead, Deadline, Opening, Patience, Stopping
from tailcut.rules.stopping import StoppingPlan
from tailcut.types import Close, Fate, Forecast, Progress, Roster, RoundRecord, RunTimes, Wait

TIMES = np.concatenate([np.linspace(0.9, 1.1, 21), np.linspace(8.0, 10.0, 21)])
N = 8


def mixed(slow: float) -> Forecast:
    """Everyone uniform on [0.9, 1.1], or nine times that with chance `slow`."""
    body = np.clip((TIMES - 0.9) / 0.2, 0.0, 1.0)
    tail = np.clip((TIMES - 8.0) / 2.0, 0.0, 1.0)
    return Forecast.independent(np.arange(N), TIMES, 1 - ((1 - slow) * body + slow * tail))


def plan(rule: Stopping, forecast: Forecast | None, finish: bool = False) -> StoppingPlan:
    return rule.plan(rule.start(), Opening(Roster.of(N), forecast, late_finish=finish))


def progress(elapsed: float, *arrivals: float) -> Progress:
    came = np.array([*arrivals, *([np.inf] * (N - len(arrivals)))])
    return Progress(elapsed, came, np.zeros(N, np.bool_), len(arrivals))


def test_it_waits_for_all_where_nothing_straggles() -> None:
    rule = Stopping(skip=0.0)
    made = plan(rule, mixed(slow=0.0))
    for k in range(N):
        arrived = np.linspace(0.91, 1.05, N)[:k]
        elapsed = float(arrived[-1]) if k else 0.0
        assert isinstance(rule.decide(made, progress(elapsed, *arrived)), Wait), k


def test_it_gives_up_between_arrivals() -> None:
    rule = Stopping()
    made = plan(rule, mixed(slow=0.1))
    six = np.linspace(0.92, 1.02, 6)
    decision = rule.decide(made, progress(1.02, *six))
    assert isinstance(decision, Wait)
    assert decision.until is not None
    assert 1.02 < decision.until <= 1.1
    assert rule.decide(made, progress(decision.until + 0.1, *six)) == Close()


def test_it_never_closes_an_empty_round() -> None:
    rule = Stopping()
    made = plan(rule, mixed(slow=0.1))
    assert isinstance(rule.decide(made, progress(5.0)), Wait)
    assert rule.decide(made, progress(11.0)) == Wait(count=1)


def test_the_price_is_the_best_rate_of_the_forecast() -> None:
    made = plan(Stopping(), mixed(slow=0.1))
    # At the end of the body: 0.9 · 8 arrivals; a worker is still out with probability 1 − 0.9⁸.
    assert made.price == pytest.approx(N * 0.9 / 1.1, rel=0.02)
    assert made.horizon == pytest.approx(1.1, abs=0.02)


def test_overhead_lowers_the_price_and_lengthens_the_wait() -> None:
    rule = Stopping()
    free = rule.plan(rule.start(), Opening(Roster.of(N), mixed(slow=0.1)))
    dear = rule.plan(rule.start(), Opening(Roster.of(N), mixed(slow=0.1), overhead=300.0))
    assert dear.price < free.price
    seven = np.linspace(0.92, 1.02, 7)
    assert rule.decide(free, progress(1.2, *seven)) == Close()
    assert isinstance(rule.decide(dear, progress(1.2, *seven)), Wait)


def test_optimism_keeps_open_for_as_much_longer_as_it_hopes_for() -> None:
    # Pareto: with one worker out arrivals come at a rate of 2 / t, so the close is at 2 / price, times what is hoped.
    times = np.geomspace(1.0, 50.0, 800)
    forecast = Forecast.independent(np.arange(N), times, np.tile(times**-2.0, (N, 1)))
    seven = np.linspace(1.0, 1.05, 7)
    for optimism in (0.0, 0.9):
        rule = Stopping(skip=0.0, optimism=optimism)
        made = rule.plan(rule.start(), Opening(Roster.of(N), forecast, overhead=6.0))
        due = (1.0 + optimism * (1.0 - N / 12)) * 2.0 / made.price
        assert isinstance(rule.decide(made, progress(0.98 * due, *seven)), Wait)
        assert rule.decide(made, progress(1.02 * due, *seven)) == Close()


def test_optimism_does_not_wait_for_more_than_are_out() -> None:
    rule = Stopping(skip=0.0, optimism=1.0)
    decision = rule.decide(plan(rule, mixed(slow=0.0)), progress(0.92, *np.linspace(0.91, 0.92, N - 1)))
    assert isinstance(decision, Wait)
    assert decision.count == N


def test_of_a_crowd_the_first_arrival_closes_nothing() -> None:
    n = 64
    times = np.array([1.0, 100.0])
    forecast = Forecast.independent(np.arange(n), times, np.tile([0.99, 0.0], (n, 1)))
    came = np.full(n, np.inf)
    came[:3] = 1.0
    for crowd, expected in ((0, Close()), (16, Wait(until=1.2))):
        rule = Stopping(crowd=crowd)
        made = rule.plan(rule.start(), Opening(Roster.of(n), forecast))
        assert rule.decide(made, Progress(1.0, came, np.zeros(n, np.bool_), 3)) == expected
        assert rule.decide(made, Progress(1.2, came, np.zeros(n, np.bool_), 3)) == Close()


@pytest.mark.parametrize(("name", "value"), [("optimism", -0.1), ("optimism", 1.5), ("crowd", -1)])
def test_optimism_and_crowd_are_checked(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=f"^{name} must be .* but got {value}"):
        Stopping(**{name: value})  # type: ignore[arg-type]


def test_skipping_asks_less_often() -> None:
    eager, lazy = Stopping(skip=0.0), Stopping(skip=0.5)
    first = eager.decide(plan(eager, mixed(0.1)), progress(0.0))
    second = lazy.decide(plan(lazy, mixed(0.1)), progress(0.0))
    assert isinstance(first, Wait)
    assert isinstance(second, Wait)
    assert (first.count, second.count) == (1, 3)
    assert first.until == second.until


def test_without_a_forecast_it_waits() -> None:
    rule = Stopping()
    assert rule.decide(plan(rule, None), progress(3.0, 1.0)) == Wait()


def test_a_worker_free_too_late_sits_out() -> None:
    rule = Stopping()
    made = plan(rule, mixed(slow=0.1))
    assert rule.worth_starting(made, 0, 0.01)
    assert not rule.worth_starting(made, 0, 0.5)
    assert rule.worth_starting(plan(rule, None), 0, 0.5)


def test_patience_enters_only_where_late_workers_finish() -> None:
    rule = Stopping(patience=Patience(thetas=(0.5,)))
    assert plan(rule, mixed(0.1), finish=True).price == 0.5 * plan(rule, mixed(0.1)).price


@pytest.mark.parametrize("skip", [-0.1, 1.0, float("nan")])
def test_skip_is_a_share(skip: float) -> None:
    with pytest.raises(ParameterError, match="skip must be"):
        Stopping(skip=skip)


@pytest.mark.parametrize("name", list(laws()))
def test_it_reaches_the_optimal_stopping_rate(name: str) -> None:
    assert shares(laws()[name], rounds=400).stopping >= 0.995


def record(value: int, seconds: float) -> RoundRecord:
    used = np.arange(N) < value
    empty = RunTimes(np.empty(0, np.int64), np.empty(0), np.empty(0, np.bool_), np.empty(0, np.int64))
    return RoundRecord(
        version=0,
        opened=0.0,
        elapsed=seconds,
        overhead=0.0,
        roster=Roster.of(N),
        arrivals=np.where(used, seconds, np.inf),
        accepted=used.astype(np.int64),
        shares=np.ones(N),
        fates=np.where(used, Fate.USED, Fate.ABANDONED).astype(np.int64),
        run_times=empty,
        staleness=np.zeros(value, np.int64),
    )


def test_patience_finds_the_best_theta_and_a_new_one_after_a_change() -> None:
    patience = Patience()
    memory = patience.start()
    used: list[float] = []

    def play(rounds: int, best: float) -> None:
        nonlocal memory
        for _ in range(rounds):
            theta = patience.choice(memory)
            used.append(theta)
            off = abs(patience.thetas.index(theta) - patience.thetas.index(best))
            memory = patience.learn(memory, theta, record(8 - 2 * off, 1.0))

    play(400, best=0.6)
    assert np.mean([theta == 0.6 for theta in used[100:]]) > 0.8
    assert 1.0 not in used, "what lies beyond a worse neighbor is not tried"
    play(800, best=0.8)
    assert np.mean([theta == 0.8 for theta in used[-300:]]) > 0.8


def test_patience_refuses_impossible_settings() -> None:
    with pytest.raises(ParameterError, match="thetas must be positive"):
        Patience(thetas=(1.0, 0.0))
    with pytest.raises(ParameterError, match="settle must be"):
        Patience(block=2, settle=2)


def test_ahead_takes_the_cutoff_of_the_best_rate() -> None:
    rule = Ahead()
    chosen = rule.plan(None, Opening(Roster.of(N), mixed(slow=0.1)))
    # Cutoffs of up to 5 of 8 are in with the body almost surely; waiting for more risks a slow one.
    assert chosen == 5
    assert rule.decide(chosen, progress(1.0, *np.linspace(0.92, 1.0, 4))) == Wait(count=5)
    assert rule.decide(chosen, progress(1.0, *np.linspace(0.92, 1.0, 5))) == Close()


def test_ahead_waits_for_fewer_when_workers_leave() -> None:
    gone = np.array([False] * 3 + [True] * 5)
    arrivals = np.array([1.0, 1.0, np.inf, *([np.inf] * 5)])
    assert Ahead().decide(5, Progress(1.0, arrivals, gone, 2)) == Wait(count=3)


def test_ahead_uses_the_forecasters_own_order_statistics() -> None:
    forecast = Forecast.independent(np.arange(3), TIMES, 1 - np.linspace(0.0, 1.0, len(TIMES)))
    means = np.array([1.0, 1.1, 9.0])
    own = Forecast(
        forecast.workers, TIMES, forecast.survival, forecast.weights, forecast.groups, order_means=means
    )
    assert Ahead().plan(None, Opening(Roster.of(3), own)) == 2


def test_a_deadline_closes_at_its_moment_or_with_the_first_arrival_after() -> None:
    rule = Deadline(seconds=2.0)
    assert rule.decide(None, progress(0.0)) == Wait(until=2.0)
    assert rule.decide(None, progress(2.0, 1.0)) == Close()
    assert rule.decide(None, progress(2.0)) == Wait(count=1)
    with pytest.raises(ParameterError, match="seconds must be positive"):
        Deadline(seconds=0.0)
