"""The rule that follows the noise scale: what it plans with, what it forgets, and a run whose noise grows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, final

import numpy as np
import pytest

from tailcut.clusters import Iid, LogNormal
from tailcut.engines.simulated import Run, replay
from tailcut.errors import ParameterError
from tailcut.forecast import NoForecast, Recent
from tailcut.names import entrant
from tailcut.objective import Count, Gain
from tailcut.policy import Policy, PolicyState, PolicyWrapper
from tailcut.rules import Ahead, Backup, Opening, Patience, Rule, Stopping, Valued
from tailcut.rules.valued import STALE, ValuedMemory
from tailcut.types import Fate, Forecast, Measured, Progress, Roster, RoundRecord, RunTimes

N = 8
TIMES = np.linspace(0.1, 4.0, 40)
UPDATE = Measured(loss=1.0, samples=64, batch=16, big=1.5, small=3.0, small_samples=16, rate=0.1)
ALONE = replace(UPDATE, samples=16, big=3.0)
RULES: tuple[Rule[Any, Any], ...] = (Stopping(), Ahead())


def opening(late_finish: bool = False) -> Opening:
    forecast = Forecast.independent(np.arange(N), TIMES, np.exp(-TIMES))
    return Opening(Roster.of(N), forecast, overhead=0.1, late_finish=late_finish)


def record(measured: Measured | None, count: int = 4) -> RoundRecord:
    used = np.arange(N) < count
    none = np.empty(0, np.int64)
    return RoundRecord(
        version=0,
        opened=0.0,
        elapsed=1.0,
        overhead=0.1,
        roster=Roster.of(N),
        arrivals=np.where(used, np.linspace(0.3, 1.0, N), np.inf),
        accepted=used.astype(np.int64),
        shares=np.ones(N),
        fates=np.where(used, Fate.USED, Fate.ABANDONED).astype(np.int64),
        run_times=RunTimes(none, np.empty(0), np.empty(0, np.bool_), none),
        staleness=np.zeros(count, np.int64),
        measured=measured,
    )


def taught(rule: Valued[Any, Any], *seen: Measured | None) -> ValuedMemory[Any]:
    memory = rule.start()
    for each in seen:
        memory = rule.learn(memory, rule.plan(memory, opening()), record(each))
    return memory


def progresses() -> list[Progress]:
    arrived = np.linspace(0.1, 1.2, N)
    return [
        Progress(
            at, np.where(arrived <= at, arrived, np.inf), np.zeros(N, np.bool_), int((arrived <= at).sum())
        )
        for at in (0.0, 0.2, 0.6, 1.0)
    ]


@pytest.mark.parametrize("inner", RULES, ids=["stopping", "ahead"])
def test_it_decides_like_the_inner_rule_with_the_gain_measured_so_far(inner: Any) -> None:
    rule: Valued[Any, Any] = Valued(inner)
    memory = taught(rule, UPDATE)
    assert rule.worth(memory) == Gain(32.0, 16.0)
    told = replace(inner, objective=Gain(32.0, 16.0))
    plan, by_hand = rule.plan(memory, opening()), told.plan(memory.inner, opening())
    for progress in progresses():
        assert rule.decide(plan, progress) == told.decide(by_hand, progress)
    for elapsed in (0.0, 0.5, 3.0):
        assert rule.worth_starting(plan, 0, elapsed) == told.worth_starting(by_hand, 0, elapsed)


@pytest.mark.parametrize("inner", RULES, ids=["stopping", "ahead"])
@pytest.mark.parametrize("seen", [(), (None,), (ALONE,), (replace(UPDATE, big=math.nan),)])
def test_until_the_noise_is_known_throughput_counts(inner: Any, seen: tuple[Measured | None, ...]) -> None:
    rule: Valued[Any, Any] = Valued(inner)
    memory = taught(rule, *seen)
    assert rule.worth(memory) == Count()
    plan, by_hand = rule.plan(memory, opening()), inner.plan(memory.inner, opening())
    for progress in progresses():
        assert rule.decide(plan, progress) == inner.decide(by_hand, progress)


def test_an_own_objective_of_the_inner_rule_is_not_used() -> None:
    rule: Valued[Any, Any] = Valued(Ahead(Gain(0.0, 1.0)))
    assert rule.plan(rule.start(), opening()).inner == Ahead().plan(None, opening())


def test_where_no_gradient_can_be_told_from_the_noise_it_is_the_count() -> None:
    rule: Valued[Any, Any] = Valued(Ahead())
    memory = taught(rule, replace(UPDATE, small=9.0))
    assert rule.worth(memory) == Gain(math.inf, 16.0)
    assert rule.plan(memory, opening()).inner == Ahead().plan(None, opening())


def test_rounds_of_one_gradient_are_broken_by_one_that_tells_more() -> None:
    rule: Valued[Any, Any] = Valued(Ahead())
    little = replace(UPDATE, small=1.75)
    memory = taught(rule, little)
    taken_for: list[float] = []
    for _ in range(3 * STALE + 1):
        objective = rule.worth(memory)
        assert isinstance(objective, Gain)
        taken_for.append(objective.noise / objective.batch)
        memory = rule.learn(memory, rule.plan(memory, opening()), record(ALONE, count=1))
    known = taken_for[0]
    assert known < 1.0
    quiet = [known] * (STALE - 1)
    assert taken_for == [known, *quiet, 1.0, *quiet, 2.0, *quiet, 3.0]
    memory = rule.learn(memory, rule.plan(memory, opening()), record(little))
    assert rule.worth(memory) == Gain(known * 16.0, 16.0)
    noisy = taught(rule, UPDATE, *[ALONE] * STALE)
    assert rule.worth(noisy) == Gain(32.0, 16.0), "more than that is known already"


def test_theta_is_chosen_by_worth_per_second() -> None:
    """Patience adds up the value of the gradients, not their number."""
    patience = Patience(thetas=(1.0,), settle=0)
    rule: Valued[Any, Any] = Valued(Stopping(patience=patience))
    memory = taught(rule, UPDATE)
    before = memory.inner.patience.values[0]
    assert before == 4.0, "the first round was one of throughput"
    memory = rule.learn(memory, rule.plan(memory, opening(late_finish=True)), record(None))
    worth = float(Gain(32.0, 16.0).value(np.array([4.0]))[0])
    assert memory.inner.patience.values[0] - before == pytest.approx(worth)
    assert worth < 3.0


def test_it_says_what_it_strives_for() -> None:
    assert Valued(Stopping()).objective_name == "gain"
    assert Stopping().objective_name == "count"
    assert entrant("bayes:objective=gain:fair=9:floor=2").policy.rule.objective_name == "gain"
    assert entrant("bayes:fair=9:floor=2").policy.rule.objective_name == "count"
    assert entrant("dbw").policy.rule.objective_name == "descent"
    assert entrant("adasync").policy.rule.objective_name == "descent"


def test_an_inner_rule_without_an_objective_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"must have an objective, but got Backup\(b=1"):
        Valued(Backup(b=1))


@final
class Descending(PolicyWrapper):
    """Trains a quadratic with known gradients and noise alongside, and tells the policy what an update showed."""

    def __init__(self, inner: Policy, batch: int = 4, size: int = 1000) -> None:
        super().__init__(inner)
        self._rng, self._batch = np.random.default_rng(0), batch
        self._at = np.full(size, 1.0)
        self.true: list[float] = []
        self.told: list[float | None] = []

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        samples, size = record.count * self._batch, len(self._at)
        self.true.append(size / float(self._at @ self._at))
        memory = state.memory
        self.told.append(memory.noise.scale if isinstance(memory, ValuedMemory) else None)
        noise = self._rng.standard_normal((2, size)) / math.sqrt(samples / 2)
        halves = self._at + noise
        mean = halves.mean(axis=0)
        big, small = float(mean @ mean), float((halves**2).sum(axis=1).mean())
        half = samples if record.count == 1 else samples / 2
        seen = Measured(float(self._at @ self._at) / 2, samples, self._batch, big, small, half, 0.02)
        self._at = self._at - 0.02 * mean
        return self.inner.learn(state, plan, replace(record, measured=seen), reports)


def trained(rule: Rule[Any, Any], rounds: int = 240) -> tuple[Run, Descending]:
    times = Iid(LogNormal(sigma=0.6), n=24).sample(rounds, np.random.default_rng(1)).table
    descending = Descending(Policy(Recent(window=30), rule))
    return replay(times, descending, overhead=0.05, sees_all=True), descending


@pytest.mark.parametrize("inner", RULES, ids=["stopping", "ahead"])
def test_the_cutoff_grows_as_the_gradient_falls(inner: Any) -> None:
    run, descending = trained(Valued(inner))
    plain, _ = trained(inner)
    early, late = run.counts[10:40].mean(), run.counts[-40:].mean()
    assert early < 0.35 * plain.counts[10:40].mean(), "few gradients are enough at first"
    assert late > 0.85 * plain.counts[-40:].mean(), "near the optimum throughput is what counts"
    blocks = run.counts[10:-14].reshape(-1, 36).mean(axis=1)
    assert (np.diff(blocks) > -0.5).all()
    known = [told / true for told, true in zip(descending.told, descending.true, strict=True) if told]
    assert 0.8 < np.median(known) < 1.25


def test_without_gradients_it_is_the_inner_rule() -> None:
    times = Iid(LogNormal(sigma=0.6), n=9).sample(60, np.random.default_rng(2)).table
    for forecaster in (NoForecast(), Recent(window=20)):
        for inner in RULES:
            runs = [replay(times, Policy(forecaster, rule), overhead=0.1) for rule in (inner, Valued(inner))]
            assert np.array_equal(runs[0].accepted, runs[1].accepted)
            assert np.array_equal(runs[0].elapsed, runs[1].elapsed)
