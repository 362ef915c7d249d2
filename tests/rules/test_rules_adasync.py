"""AdaSync: its formula, its limits, and losses that are no losses."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tailcut.errors import ParameterError
from tailcut.rules import AdaSync, Opening
from tailcut.rules.adasync import AdaSyncMemory
from tailcut.types import Close, Fate, Measured, Progress, Roster, RoundRecord, RunTimes, Wait

N = 16
NONE = np.empty(0, np.int64)
RECORD = RoundRecord(
    version=0,
    opened=0.0,
    elapsed=1.0,
    overhead=0.0,
    roster=Roster.of(N),
    arrivals=np.ones(N),
    accepted=np.ones(N, np.int64),
    shares=np.ones(N),
    fates=np.full(N, Fate.USED, np.int64),
    run_times=RunTimes(NONE, np.empty(0), np.empty(0, np.bool_), NONE),
    staleness=np.zeros(N, np.int64),
)


def after(rule: AdaSync, *losses: float | None) -> AdaSyncMemory:
    memory = rule.start()
    for loss in losses:
        seen = None if loss is None else Measured(loss, 64, 4, 1.0, 2.0, 32, 0.1)
        memory = rule.learn(memory, 0, replace(RECORD, measured=seen))
    return memory


def waits_for(rule: AdaSync, *losses: float | None, n: int = N) -> int:
    return rule.plan(after(rule, *losses), Opening(Roster.of(n), forecast=None))


@pytest.mark.parametrize(
    ("loss", "cutoff"), [(8.0, 4), (2.0, 8), (1.0, 11), (0.5, 16), (0.01, 16), (32.0, 2)]
)
def test_it_grows_with_the_root_of_how_far_the_loss_has_fallen(loss: float, cutoff: int) -> None:
    assert waits_for(AdaSync(share=0.25, memory=1.0), 8.0, loss) == cutoff


@pytest.mark.parametrize("losses", [(), (None, None), (math.nan,), (math.inf, None)])
def test_without_losses_it_stays_where_it_began(losses: tuple[float | None, ...]) -> None:
    assert waits_for(AdaSync(share=0.25), *losses) == 4
    assert waits_for(AdaSync(share=0.01), *losses) == 1


def test_the_mean_loss_is_that_of_the_last_rounds() -> None:
    rule = AdaSync(memory=4.0)
    assert after(rule, 3.0).total / after(rule, 3.0).weight == pytest.approx(3.0)
    memory, mean, weights = after(rule, 3.0, 2.0, 1.0), 0.0, 0.0
    for loss, weight in ((3.0, 0.75**2), (2.0, 0.75), (1.0, 1.0)):
        mean, weights = mean + weight * loss, weights + weight
    assert memory.total / memory.weight == pytest.approx(mean / weights)
    assert memory.first == 3.0


def test_a_loss_that_is_none_is_passed_over() -> None:
    rule = AdaSync(memory=1.0)
    assert after(rule, 8.0, 2.0, math.nan, None) == after(rule, 8.0, 2.0)


def test_at_no_loss_at_all_it_waits_for_everybody() -> None:
    rule = AdaSync(memory=1.0)
    assert waits_for(rule, 8.0, 0.0) == N
    assert waits_for(rule, 8.0, -3.0) == N
    assert waits_for(rule, 8.0, 1e-308) == N
    assert waits_for(rule, -1.0, 2.0) == 1


def test_the_share_is_of_as_many_workers_as_there_are() -> None:
    assert waits_for(AdaSync(share=0.25, memory=1.0), 8.0, 2.0, n=32) == 16


def test_it_waits_for_that_many() -> None:
    rule = AdaSync(share=0.25)
    plan = rule.plan(rule.start(), Opening(Roster.of(N), forecast=None))
    arrived = np.where(np.arange(N) < 3, 0.5, np.inf)
    nobody = np.zeros(N, np.bool_)
    assert rule.decide(plan, Progress(0.5, arrived, nobody, 3)) == Wait(count=4)
    assert rule.decide(plan, Progress(0.5, np.where(np.arange(N) < 4, 0.5, np.inf), nobody, 4)) == Close()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"share": 0.0}, "share must be over 0 and at most 1, but got 0.0"),
        ({"share": 1.5}, "share must be over 0 and at most 1, but got 1.5"),
        ({"memory": 0.5}, "memory must be at least 1 round and finite, but got 0.5"),
        ({"memory": math.inf}, "memory must be at least 1 round and finite, but got inf"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, float], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        AdaSync(**parameters)
