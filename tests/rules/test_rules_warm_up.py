from __future__ import annotations

import math

import numpy as np
import pytest

from tailcut.errors import ParameterError
from tailcut.rules.backup import Backup
from tailcut.rules.bandit import Bandit
from tailcut.rules.base import Opening
from tailcut.rules.explore import Explore
from tailcut.rules.fair import Fair
from tailcut.rules.micro import MicroDeadline
from tailcut.rules.wait_all import WaitAll
from tailcut.rules.warm_up import WarmUp
from tailcut.types import Close, Decision, Fate, Forecast, Progress, Roster, RoundRecord, RunTimes, Wait

INF = math.inf


def cold(seen: Progress, factor: float = 2.0) -> Decision:
    rule = WarmUp(WaitAll(), factor)
    return rule.decide(rule.plan(rule.start(), Opening(Roster.of(len(seen.arrivals)), None)), seen)


def progress(
    elapsed: float, *arrivals: float, gone: tuple[int, ...] = (), count: int | None = None
) -> Progress:
    times = np.array(arrivals)
    in_now = int(np.isfinite(times).sum()) if count is None else count
    return Progress(elapsed, times, np.isin(np.arange(len(times)), gone), in_now)


def known(n: int) -> Forecast:
    return Forecast.independent(np.arange(n), np.array([1.0, 2.0]), np.array([0.5, 0.0]))


def test_without_a_forecast_half_of_the_workers_set_the_deadline() -> None:
    assert cold(progress(0.0, INF, INF, INF, INF, INF)) == Wait(count=3)
    assert cold(progress(2.0, 2.0, INF, 1.0, INF, INF)) == Wait(count=3)
    assert cold(progress(3.0, 2.0, INF, 1.0, 3.0, INF)) == Wait(until=6.0)
    assert cold(progress(6.0, 2.0, 5.0, 1.0, 3.0, INF)) == Close()


def test_the_deadline_does_not_move_with_later_arrivals() -> None:
    assert cold(progress(5.0, 2.0, 5.0, 1.0, 3.0, INF)) == Wait(until=6.0)


def test_the_factor_is_obeyed() -> None:
    assert cold(progress(1.0, 1.0, INF), factor=1.5) == Wait(until=1.5)
    assert cold(progress(1.0, 1.0, INF), factor=1.0) == Close()


def test_workers_that_left_are_not_part_of_the_half() -> None:
    assert cold(progress(1.0, 1.0, INF, INF, INF, INF, gone=(2, 3))) == Wait(count=2)
    assert cold(progress(1.0, 1.0, INF, INF, INF, INF, gone=(2, 3, 4))) == Wait(until=2.0)
    assert cold(progress(1.0, INF, INF, gone=(0, 1))) == Wait(count=1)


def test_one_worker_that_counts_twice_can_make_up_half() -> None:
    assert cold(progress(3.0, 2.0, INF, INF, INF, count=3)) == Wait(until=4.0)


def test_with_a_forecast_the_inner_rule_decides() -> None:
    rule = WarmUp(Backup(b=1))
    plan = rule.plan(rule.start(), Opening(Roster.of(3), known(3)))
    assert rule.decide(plan, progress(0.5, 0.5, INF, INF)) == Wait(count=2)
    assert rule.decide(plan, progress(0.7, 0.5, INF, 0.7)) == Close()


def test_everything_else_is_the_inner_rules() -> None:
    deadline = WarmUp(MicroDeadline(threshold=1.5))
    assert deadline.worker_deadline(deadline.plan(deadline.start(), Opening(Roster.of(2), None))) == 1.5

    rule = WarmUp(Fair(Explore(Backup(b=1), first=1), most_rounds=1, how="stale"))
    assert rule.fixed_count(4) is None
    roster, opening = Roster.of(2), Opening(Roster.of(2), None)
    fates = np.array([Fate.USED, Fate.ABANDONED])
    no_times = RunTimes(
        np.empty(0, dtype=np.int64), np.empty(0), np.empty(0, dtype=np.bool_), np.empty(0, np.int64)
    )
    record = RoundRecord(
        version=0,
        opened=0.0,
        elapsed=1.0,
        overhead=0.0,
        roster=roster,
        arrivals=np.array([1.0, INF]),
        accepted=np.array([1, 0]),
        shares=np.ones(2),
        fates=fates,
        run_times=no_times,
        staleness=np.zeros(1, dtype=np.int64),
    )
    memory = rule.start()
    assert rule.finishers(memory, record).tolist() == [1]
    memory = rule.learn(memory, rule.plan(memory, opening), record)
    assert rule.welcome_stale(rule.plan(memory, opening)).tolist() == [1]


def test_a_rule_without_a_forecast_is_never_asked() -> None:
    rule = WarmUp(Bandit())
    plan = rule.plan(rule.start(), Opening(Roster.of(4), None))
    assert rule.decide(plan, progress(0.0, INF, INF, INF, INF)) == Wait(count=2)


@pytest.mark.parametrize("factor", [0.5, -1.0, INF, math.nan])
def test_an_impossible_factor_is_refused(factor: float) -> None:
    with pytest.raises(ParameterError, match=f"factor must be at least 1 and finite, but got {factor}"):
        WarmUp(WaitAll(), factor)
