"""Ridge regression of the best cutoff, where the truth is known."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import pytest

from tailcut.engines.simulated import Run, replay
from tailcut.errors import ParameterError
from tailcut.forecast import NoForecast
from tailcut.policy import Policy, PolicyState, PolicyWrapper
from tailcut.rules import Opening, Regression
from tailcut.rules.regression import QUANTILES, RegressionMemory, predicted
from tailcut.table import Table
from tailcut.types import Close, FloatArray, Progress, Roster, RoundRecord, RunTimes, Wait

SLOW = 9.0


@final
class Kept(PolicyWrapper):
    """Keeps what the rule remembered after each round."""

    def __init__(self, inner: Policy) -> None:
        super().__init__(inner)
        self.memories: list[RegressionMemory] = []

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        after = self.inner.learn(state, plan, record, reports)
        self.memories.append(after.memory)
        return after


def of_cutoffs(cutoffs: list[int], n: int, noise: float = 0.0) -> FloatArray:
    """`(rounds, n)` run times of which the first c of each round are fast: c is then its best cutoff."""
    rng = np.random.default_rng(0)
    rows = [np.where(np.arange(n) < c, 1.0, SLOW * n) for c in cutoffs]
    return np.stack(rows) * (1.0 + noise * rng.random((len(rows), n)))


def run(seconds: FloatArray, rule: Regression | None = None, late_finish: bool = False) -> Run:
    policy = Policy(NoForecast(), rule or Regression())
    return replay(Table.dense(seconds), policy, sees_all=True, late_finish=late_finish, overhead=0.1)


def test_the_best_cutoff_of_a_round_is_found_afterwards() -> None:
    rng, rule = np.random.default_rng(1), Regression()
    seconds = rng.lognormal(0.0, 0.7, (12, 6))
    # The rule does not learn the last round, because no decision follows it.
    kept = Kept(Policy(NoForecast(), rule))
    replay(Table.dense(np.vstack([seconds, seconds[:1]])), kept, sees_all=True, overhead=0.25)
    memory = kept.memories[-1]
    ordered = np.sort(seconds, axis=1)
    best = [max(range(1, 7), key=lambda c, row=row: c / (row[c - 1] + 0.25)) for row in ordered]
    assert (memory.rows[:, 0] * 6).round(9).tolist() == best
    unit = memory.unit
    assert unit <= np.median(seconds[0]) < 2 * unit
    assert np.log2(unit).is_integer()
    assert np.allclose(memory.rows[:, 1:].T, np.quantile(np.log(seconds / unit), QUANTILES, axis=1))


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize(("low", "high"), [(2, 8), (5, 8), (7, 8), (1, 8)])
def test_cutoffs_that_alternate_are_learnt_exactly(low: int, high: int, noise: float) -> None:
    cutoffs = [low, high] * 40
    found = run(of_cutoffs(cutoffs, 8, noise))
    assert found.counts[12:].tolist() == cutoffs[12:]


def test_cutoffs_of_period_three_need_two_rounds_of_looking_back() -> None:
    cutoffs = [3, 3, 8] * 30
    assert run(of_cutoffs(cutoffs, 8), Regression(lags=2)).counts[20:].tolist() == cutoffs[20:]
    assert run(of_cutoffs(cutoffs, 8), Regression(lags=1)).counts[20:].tolist() != cutoffs[20:]


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("late_finish", [False, True])
@pytest.mark.parametrize("cutoff", [1, 3, 7, 8])
def test_a_constant_cutoff_stays_constant(cutoff: int, late_finish: bool, noise: float) -> None:
    found = run(of_cutoffs([cutoff] * 60, 8, noise), late_finish=late_finish)
    later = found.counts[1:]
    if late_finish:
        # Workers that finish late may miss the whole round.
        assert (later <= cutoff).all()
    else:
        assert (later == cutoff).all()


def test_a_change_for_good_is_followed() -> None:
    cutoffs = [8] * 60 + [4] * 60
    found = run(of_cutoffs(cutoffs, 8), Regression(window=20))
    assert found.counts[85:].tolist() == cutoffs[85:]


def test_workers_that_join_and_leave_keep_the_share() -> None:
    wide = np.full((90, 16), np.nan)
    wide[:30, :8] = of_cutoffs([6] * 30, 8)
    wide[30:60] = of_cutoffs([12] * 30, 16)
    wide[60:, :4] = of_cutoffs([3] * 30, 4)
    found = run(wide)
    assert found.counts[1:].tolist() == [6] * 29 + [12] * 30 + [3] * 30
    alternating = np.full((90, 16), np.nan)
    alternating[:45, :8] = of_cutoffs([2, 8] * 23, 8)[:45]
    alternating[45:] = of_cutoffs([16, 4] * 23, 16)[:45]
    assert run(alternating).counts[14:].tolist() == ([2, 8] * 23)[14:45] + ([16, 4] * 23)[:45]


@pytest.mark.parametrize("lags", [1, 2, 4])
def test_the_prediction_is_that_of_ridge_regression(lags: int) -> None:
    rng, ridge = np.random.default_rng(2), 0.7
    rows = rng.normal(size=(30, 3)) * [0.2, 5.0, 1e-3] + [0.5, -3.0, 1.0]
    past = np.array([rows[t - lags : t].ravel() for t in range(lags, 31)])
    known, target = past[:-1], rows[lags:, 0]
    z = (past - known.mean(axis=0)) / known.std(axis=0)
    # Ridge is least squares with one more row for each coefficient.
    system = np.vstack([z[:-1], np.sqrt(ridge) * np.eye(z.shape[1])])
    right = np.concatenate([target - target.mean(), np.zeros(z.shape[1])])
    weights = np.linalg.lstsq(system, right, rcond=None)[0]
    assert predicted(rows, lags, ridge) == pytest.approx(target.mean() + z[-1] @ weights)


def test_a_series_that_follows_its_last_value_is_foreseen() -> None:
    rng = np.random.default_rng(3)
    shares = np.full(400, 0.5)
    for t in range(1, 400):
        shares[t] = 0.5 + 0.9 * (shares[t - 1] - 0.5) + 0.01 * rng.normal()
    foreseen = np.array([predicted(shares[t - 60 : t, None], 1, 1.0) for t in range(60, 400)])
    error = np.sqrt(np.mean((foreseen - shares[60:]) ** 2))
    assert error < 1.15 * 0.01, "little more than what nobody can foresee"
    assert error < 0.6 * shares[60:].std()


def test_with_little_seen_it_is_the_mean() -> None:
    assert predicted(np.array([[0.5, 9.0]]), 3, 1.0) == 0.5
    assert predicted(np.array([[0.5], [1.0], [0.75], [0.75]]), 3, 1.0) == 0.75
    rule, memory = Regression(), RegressionMemory(np.array([[0.5, 0.0, 0.0, 0.0]]), unit=1.0)
    assert [rule.plan(memory, Opening(Roster.of(n), None)) for n in (1, 2, 9, 10)] == [1, 1, 4, 5]


@pytest.mark.parametrize(("share", "cutoff"), [(-3.0, 1), (0.0, 1), (1.0, 10), (7.0, 10)])
def test_a_cutoff_is_a_cutoff_whatever_is_predicted(share: float, cutoff: int) -> None:
    memory = RegressionMemory(np.tile([share, 0.0, 0.0, 0.0], (9, 1)), unit=1.0)
    assert Regression().plan(memory, Opening(Roster.of(10), None)) == cutoff


def test_what_is_remembered_is_bounded() -> None:
    kept = Kept(Policy(NoForecast(), Regression(window=5, lags=2)))
    replay(Table.dense(np.random.default_rng(0).lognormal(size=(30, 4))), kept, sees_all=True)
    assert kept.memories[-1].rows.shape == (7, 1 + len(QUANTILES))


def test_the_first_round_closes_at_twice_its_median() -> None:
    rule = Regression()
    plan = rule.plan(rule.start(), Opening(Roster.of(4), None))
    nobody_left = np.zeros(4, dtype=np.bool_)
    assert rule.decide(plan, Progress(0.0, np.full(4, np.inf), nobody_left, 0)) == Wait(count=2)
    arrivals = np.array([1.0, np.inf, 1.5, np.inf])
    assert rule.decide(plan, Progress(1.5, arrivals, nobody_left, 2)) == Wait(until=3.0)
    assert rule.decide(plan, Progress(3.0, arrivals, nobody_left, 2)) == Close()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"window": 1}, "window must be at least 2 rounds, but got 1"),
        ({"lags": 0}, "lags must be at least 1 round, but got 0"),
        ({"ridge": 0.0}, "ridge must be over 0 and finite, but got 0.0"),
        ({"ridge": float("nan")}, "ridge must be over 0 and finite, but got nan"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, float], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Regression(**parameters)  # type: ignore[arg-type]
