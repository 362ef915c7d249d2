"""Backtests of clusters whose truth is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np
import pytest

from tailcut import names
from tailcut.errors import ParameterError
from tailcut.forecast import Forecaster, NoForecast, Normal, Recent, Trend
from tailcut.policies import backup, elfving, stopping, wait_all
from tailcut.policy import Policy
from tailcut.rules import WaitAll
from tailcut.study.backtest import (
    BacktestSetting,
    Contender,
    backtest,
    backtest_steps,
    contenders,
)
from tailcut.study.backtest_facts import BacktestFacts, ForecasterFacts
from tailcut.study.contest import Entrant
from tailcut.study.lessons import closed_rounds, whole_rounds
from tailcut.study.one_step import one_step_ahead
from tailcut.study.source import Recorded
from tailcut.table import Table
from tailcut.types import FloatArray, Forecast, Roster, RunTimes

SHORT = BacktestSetting(seeds=1, rounds=60)


@final
@dataclass(frozen=True, slots=True)
class Fixed(Forecaster[int]):
    """Log-normal around 1 s for everybody, from the round `begins` on; the belief counts what it was taught."""

    sigma: float
    begins: int = 0

    def start(self) -> int:
        return 0

    def learn(self, belief: int, seen: RunTimes) -> int:
        return belief if seen.late else belief + 1

    def forecast(self, belief: int, roster: Roster) -> Forecast | None:
        if belief < self.begins:
            return None
        return Forecast.independent(roster.workers, TIMES, survival(self.sigma))


TIMES = np.geomspace(0.05, 20.0, 200)


@cache
def survival(sigma: float) -> FloatArray:
    return np.array([0.5 * math.erfc(math.log(t) / (sigma * math.sqrt(2))) for t in TIMES])


def found(facts: BacktestFacts, name: str) -> ForecasterFacts:
    return next(one for one in facts.forecasters if one.name == name)


def recorded(rounds: int = 60, workers: int = 12, seed: int = 0) -> Table:
    return Table.dense(np.exp(0.35 * np.random.default_rng(seed).normal(size=(rounds, workers))))


def source(table: Table) -> Recorded:
    return Recorded("table", "a table", table)


def test_the_truth_covers_what_it_says_and_nobody_scores_better() -> None:
    some = [Contender("normal", Normal()), Contender("recent", Recent())]
    facts = backtest(names.source("iid-lognormal"), some, BacktestSetting(see="all", seeds=2, rounds=60))
    truth = found(facts, "truth")
    drawn = 2 * 54 * 158
    for share, level in ((truth.cover50.mean, 0.5), (truth.cover90.mean, 0.9)):
        assert abs(share - level) < 3.3 * math.sqrt(level * (1 - level) / drawn)
    assert sum(truth.pit) == pytest.approx(1.0)
    assert max(abs(part - 1 / 20) for part in truth.pit) < 4 * math.sqrt(0.05 * 0.95 / drawn)
    assert truth.kind == "bound"
    for other in facts.forecasters[:-1]:
        assert other.kind == "forecaster"
        assert other.log_score.mean < truth.log_score.mean
        assert other.order_crps.mean > truth.order_crps.mean
        assert other.close_crps.mean >= truth.close_crps.mean


def test_the_log_score_of_the_truth_is_minus_its_entropy() -> None:
    """The score of a log-normal is −½·log(2πe·sigma²) nats per log-second."""
    setting = BacktestSetting(see="all", closing=Entrant("wait-all", wait_all()))
    facts = backtest(source(recorded(400)), [Contender("right", Fixed(0.35))], setting)
    wanted = -0.5 * math.log(2 * math.pi * math.e * 0.35**2)
    # The log density has standard deviation √½ per run time.
    assert found(facts, "right").log_score.mean == pytest.approx(
        wanted, abs=3.3 * math.sqrt(0.5 / (360 * 12))
    )


def test_too_narrow_and_too_wide_are_said_in_a_note() -> None:
    some = [Contender("narrow", Fixed(0.15)), Contender("right", Fixed(0.35)), Contender("wide", Fixed(0.9))]
    facts = backtest(source(recorded(200)), some, BacktestSetting())
    # P(|Z| < 1.645·0.15/0.35).
    assert found(facts, "narrow").cover90.mean == pytest.approx(0.519, abs=0.04)
    assert found(facts, "narrow").pit[0] > 0.1
    assert found(facts, "wide").pit[0] < 0.01
    narrow, wide = facts.notes
    assert narrow.startswith("`narrow` is too sure: its 90 % interval holds ")
    assert wide.startswith("`wide` is too unsure: ")
    order = ["right", "narrow", "wide"]
    assert max(order, key=lambda name: found(facts, name).log_score.mean) == "right"
    assert min(order, key=lambda name: found(facts, name).order_crps.mean) == "right"
    assert min(order, key=lambda name: found(facts, name).close_crps.mean) == "right"


def test_rounds_without_a_forecast_are_left_out_and_counted() -> None:
    table = recorded(50)
    late = Contender("late", Fixed(0.35, begins=30))
    never = Contender("never", Fixed(0.35, begins=99))
    facts = backtest(source(table), [late, never], BacktestSetting(see="all", warmup=10))
    assert found(facts, "late").left_out == 20
    assert np.isfinite(found(facts, "late").cover90_by_round).sum() == 20
    assert found(facts, "never").left_out == 40
    assert math.isnan(found(facts, "never").log_score.mean)
    assert math.isnan(found(facts, "never").order_crps.mean)
    assert math.isnan(found(facts, "never").cover90.mean)
    assert facts.notes == ()
    only = one_step_ahead(table, Fixed(0.35), whole_rounds(table, closed_rounds(table, wait_all())), skip=30)
    assert found(facts, "late").log_score.mean == pytest.approx(only.log_score[30:].mean())


def test_all_learn_the_same_rounds_censored_as_they_were() -> None:
    table = recorded(20)
    policy = Policy(NoForecast(), backup(c=9).rule)
    closed = closed_rounds(table, policy)
    ranked = np.sort(table.seconds, axis=1)
    for row, lesson in enumerate(closed):
        assert lesson.close == pytest.approx(ranked[row, 8])
        assert lesson.shown.observed.sum() == 9
        np.testing.assert_allclose(lesson.shown.seconds[~lesson.shown.observed], ranked[row, 8])
    whole = whole_rounds(table, closed)
    assert [lesson.close for lesson in whole] == [lesson.close for lesson in closed]
    for row, lesson in enumerate(whole):
        np.testing.assert_array_equal(lesson.shown.seconds, table.seconds[row])
        assert lesson.shown.observed.all()
    facts = backtest(
        source(table), [Contender("any", Fixed(0.35))], BacktestSetting(closing=Entrant("b", policy))
    )
    assert facts.seen == pytest.approx(9 / 12)
    assert (facts.close, facts.see) == ("b", "closed")


def test_a_closing_policy_that_sees_all_does_not_let_others_see_all() -> None:
    table = recorded(30)
    cut = [~lesson.shown.observed for lesson in closed_rounds(table, elfving())]
    assert np.concatenate(cut).any()


def test_the_censored_log_score_is_that_of_the_closed_round() -> None:
    table = recorded(10, 4)
    closed = closed_rounds(table, backup(c=2))
    trail = one_step_ahead(table, Fixed(1.0), closed)
    row = np.sort(table.seconds[3])
    density = [-0.5 * math.log(x) ** 2 - 0.5 * math.log(2 * math.pi) for x in row[:2]]
    survival = 2 * math.log(0.5 * math.erfc(math.log(row[1]) / math.sqrt(2)))
    assert trail.log_score[3] == pytest.approx((sum(density) + survival) / 4, abs=0.02)


def test_late_reports_are_learnt_before_their_round() -> None:
    """A worker that is always slow is cut, and finishes in the background now and then."""
    table = recorded(60, 10)
    table.seconds[:, 3] *= 5.0
    closed = closed_rounds(table, stopping())
    reported = [report for lesson in closed for report in lesson.reports]
    assert reported
    assert all(report.late for report in reported)
    assert {int(worker) for report in reported for worker in report.workers} == {3}


def test_workers_come_and_go() -> None:
    table = recorded(60)
    seconds = table.seconds.copy()
    seconds[20:40, 2:5] = np.nan
    holes = Table(seconds, ~np.isnan(seconds), table.names, table.nodes)
    facts = backtest(source(holes), [Contender("trend", Trend()), Contender("recent", Recent())], SHORT)
    for one in facts.forecasters:
        assert 0.7 < one.cover90.mean <= 1.0
        assert one.left_out == 0


def test_a_run_time_that_never_came_is_no_run_time() -> None:
    table = recorded(40)
    observed = table.observed.copy()
    observed[:, 5] = False
    facts = backtest(
        source(Table(table.seconds, observed, table.names, table.nodes)),
        [Contender("any", Fixed(0.35))],
        SHORT,
    )
    assert 0.8 < found(facts, "any").cover90.mean < 0.97
    assert math.isfinite(found(facts, "any").order_crps.mean)


def test_the_same_seed_gives_the_same_figures() -> None:
    def run() -> list[object]:
        facts = backtest(names.source("nodes16"), [Contender("trend", Trend())], SHORT)
        return [(one.log_score, one.order_crps, one.close_crps, one.pit) for one in facts.forecasters]

    assert run() == run()


def test_progress_is_told_as_often_as_announced() -> None:
    some = [Contender("a", Recent()), Contender("b", Normal())]
    setting = BacktestSetting(seeds=2, rounds=20)
    told: list[str] = []
    backtest(names.source("demo8"), some, setting, told.append)
    assert sorted(told) == ["a", "a", "b", "b", "truth", "truth"]
    assert len(told) == backtest_steps(names.source("demo8"), some, setting)
    assert backtest_steps(source(recorded()), some, setting) == 2


def test_equal_forecasters_appear_once() -> None:
    specs = ["elfving", "trend", "stopping", "stopping:memory=20", "elfving:see=closed"]
    some = contenders([names.entrant(spec) for spec in specs])
    assert [one.name for one in some] == [
        "elfving, elfving:see=closed",
        "trend, stopping",
        "stopping:memory=20",
    ]


def test_a_policy_that_forecasts_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="'wait-all' forecasts nothing"):
        contenders([Entrant("wait-all", Policy(NoForecast(), WaitAll()))])


@pytest.mark.parametrize("spec", ["async", "drop-compute"])
def test_rounds_closed_by_parts_or_stale_gradients_are_refused(spec: str) -> None:
    setting = BacktestSetting(closing=names.entrant(spec))
    with pytest.raises(ParameterError, match=f"cannot be closed by '{spec}'"):
        backtest(source(recorded()), [Contender("any", Recent())], setting)


def test_a_warm_up_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="warmup must leave at least one of the 60 rounds"):
        backtest(source(recorded()), [Contender("any", Recent())], BacktestSetting(warmup=60))
