"""The published forecaster: laws for any workers, draws that repeat, imputation as published."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest, norm, truncnorm

pytest.importorskip("torch")

from tailcut.clusters import GroupsInTurn
from tailcut.counts import expected_order_statistics
from tailcut.engines.simulated import replay
from tailcut.errors import ParameterError
from tailcut.fitting.bdsgd import BdsgdSettings, BdsgdTraining
from tailcut.fitting.fit_once import FitOnce, filled
from tailcut.fitting.loop import fit
from tailcut.forecast import Forecaster
from tailcut.forecast.bdsgd.forecaster import Bdsgd, BdsgdBelief, Components
from tailcut.forecast.bdsgd.model import BdsgdModel
from tailcut.policy import Policy
from tailcut.rules import Ahead, WarmUp
from tailcut.saved import load_state, save_state
from tailcut.testing import ForecasterSuite
from tailcut.types import NO_NODE, FloatArray, Roster, RunTimes

CLUSTER = GroupsInTurn(n=12, groups=3, period=15)
SETTINGS = BdsgdSettings(window=4, hidden=16, latent=4)


def untrained(n: int, window: int = 4) -> BdsgdModel:
    rows = np.random.default_rng(0).lognormal(0.0, 0.3, (40, n))
    return BdsgdTraining(rows, BdsgdSettings(window=window, hidden=8, latent=3), seed=0).model()


@pytest.fixture(scope="module")
def trained() -> BdsgdModel:
    rows = CLUSTER.sample(200, np.random.default_rng(1)).table.seconds
    training = BdsgdTraining(rows, SETTINGS, seed=0)
    fit(training, epochs=15, patience=15)
    return training.model()


class TestBdsgdSuite(ForecasterSuite):
    from_what_was_seen = False

    @pytest.fixture(params=[1, 7], ids=["of one worker", "of seven"])
    def forecaster(self, request: pytest.FixtureRequest) -> Forecaster[Any]:
        return Bdsgd(untrained(request.param), samples=32)


class TestFitOnceSuite(ForecasterSuite):
    @pytest.fixture
    def forecaster(self) -> Forecaster[Any]:
        return FitOnce(train=8, settings=BdsgdSettings(window=2, hidden=8), epochs=2, samples=32)


def rounds_of(seconds: FloatArray) -> list[RunTimes]:
    n = seconds.shape[1]
    return [
        RunTimes(np.arange(n), row, np.ones(n, dtype=np.bool_), np.full(n, NO_NODE, dtype=np.int64))
        for row in seconds
    ]


def after(forecaster: Bdsgd, seconds: FloatArray) -> BdsgdBelief:
    belief = forecaster.start()
    for seen in rounds_of(seconds):
        belief = forecaster.learn(belief, seen)
    return belief


def test_nothing_is_forecast_before_a_whole_window() -> None:
    forecaster, rows = Bdsgd(untrained(5)), np.ones((4, 5))
    assert forecaster.forecast(after(forecaster, rows[:3]), Roster.of(5)) is None
    assert forecaster.forecast(after(forecaster, rows), Roster.of(5)) is not None


def test_order_means_are_those_of_its_own_scenarios(trained: BdsgdModel) -> None:
    rows = CLUSTER.sample(20, np.random.default_rng(5)).table.seconds
    forecaster = Bdsgd(trained, samples=512)
    forecast = forecaster.forecast(after(forecaster, rows), Roster.of(12))
    assert forecast is not None
    assert forecast.order_means is not None
    # 512 sorted draws against the exact order statistics of the 16 scenarios that stand for them.
    assert forecast.order_means == pytest.approx(expected_order_statistics(forecast), rel=0.1)


def test_the_forecast_follows_the_slow_group(trained: BdsgdModel) -> None:
    rows = CLUSTER.sample(90, np.random.default_rng(6)).table.seconds
    forecaster = Bdsgd(trained)
    for group, moment in enumerate((10, 25, 40)):
        forecast = forecaster.forecast(after(forecaster, rows[:moment]), Roster.of(12))
        assert forecast is not None
        late = np.trapezoid(forecast.survival.mean(axis=0), forecast.times, axis=1)
        slow = CLUSTER.nodes() == group
        assert late[slow].min() > 1.5 * late[~slow].max()


def test_cut_workers_are_drawn_above_the_close() -> None:
    forecaster = Bdsgd(untrained(6))
    belief = after(forecaster, np.ones((4, 6)))
    observed = np.array([True, True, False, False, True, False])
    seconds = np.array([1.0, 1.1, 1.2, 5.0, 0.9, 1.2])
    seen = RunTimes(np.arange(6), seconds, observed, np.full(6, NO_NODE, dtype=np.int64))
    row = forecaster.learn(belief, seen).rounds[-1]
    assert np.array_equal(row[observed], seconds[observed])
    assert (row[~observed] > seconds[~observed]).all()
    assert np.isfinite(row).all()


def test_imputation_follows_the_truncated_mixture() -> None:
    rng = np.random.default_rng(0)
    mixture = Components(np.array([[1.0, 1.0], [3.0, 1.0]]), np.array([[0.5, 0.2], [0.5, 0.2]]))
    drawn = mixture.draw_above(np.full((4000, 2), 1.5), rng)

    def two_bumps(x: FloatArray) -> FloatArray:
        beyond = norm.sf(1.5, [1.0, 3.0], 0.5)
        share = norm.sf(x[:, None], [1.0, 3.0], 0.5).sum(axis=1) / beyond.sum()
        return np.asarray(1 - share)

    assert kstest(drawn[:, 0], two_bumps).pvalue > 1e-3
    assert kstest(drawn[:, 1], truncnorm(2.5, np.inf, 1.0, 0.2).cdf).pvalue > 1e-3


def test_imputation_far_beyond_anything_expected_stays_finite() -> None:
    mixture = Components(np.ones((3, 1)), np.full((3, 1), 0.01))
    drawn = mixture.draw_above(np.array([[1e6]]), np.random.default_rng(0))
    assert 1e6 < drawn[0, 0] < 1.01e6


def test_newcomers_look_like_the_workers_that_are_known(trained: BdsgdModel) -> None:
    rows = CLUSTER.sample(10, np.random.default_rng(5)).table.seconds
    forecaster = Bdsgd(trained, samples=1024)
    belief = after(forecaster, rows)
    known, strange = (
        forecaster.forecast(belief, Roster(ids, np.full(12, NO_NODE), np.full(12, np.nan)))
        for ids in (np.arange(12), np.arange(100, 112))
    )
    assert known is not None
    assert strange is not None
    assert known.order_means is not None
    assert strange.order_means is not None
    assert strange.order_means.mean() == pytest.approx(known.order_means.mean(), rel=0.03)


def test_busy_workers_count_in_the_order_means(trained: BdsgdModel) -> None:
    rows = CLUSTER.sample(10, np.random.default_rng(5)).table.seconds
    forecaster = Bdsgd(trained, samples=512)
    belief = after(forecaster, rows)
    spent = np.where(np.arange(12) > 8, 0.5, np.nan)
    busy = forecaster.forecast(belief, Roster(np.arange(12), np.full(12, NO_NODE), spent))
    assert busy is not None
    assert busy.order_means is not None
    # The curves hold what is left of the old work by another way of reckoning.
    assert busy.order_means == pytest.approx(expected_order_statistics(busy), rel=0.12)


@pytest.mark.parametrize("sees_all", [True, False])
def test_the_same_seed_gives_the_same_decisions_and_so_does_a_restored_state(
    trained: BdsgdModel, sees_all: bool, tmp_path: Path
) -> None:
    table = CLUSTER.sample(40, np.random.default_rng(7)).table
    policy = Policy(Bdsgd(trained), WarmUp(Ahead()), sees_all=sees_all)
    one, other = (replay(table, policy, sees_all=sees_all).counts for _ in range(2))
    assert np.array_equal(one, other)
    assert one.min() < 12
    belief = after(Bdsgd(trained), table.seconds[:20])
    again = pickle.loads(pickle.dumps(belief))
    state = policy.start()
    save_state(tmp_path / "s", type(state)(belief, state.memory))
    saved = load_state(tmp_path / "s", policy).belief
    cut = RunTimes(
        np.arange(12), table.seconds[20], table.seconds[20] < 1.0, np.full(12, NO_NODE, dtype=np.int64)
    )
    forecasts = [
        policy.forecaster.forecast(policy.forecaster.learn(b, cut), Roster.of(12))
        for b in (belief, again, saved)
    ]
    assert all(np.array_equal(f.order_means, forecasts[0].order_means) for f in forecasts)  # type: ignore[union-attr]


def test_fit_once_waits_trains_and_then_cuts(tmp_path: Path) -> None:
    table = CLUSTER.sample(80, np.random.default_rng(7)).table
    policy = Policy(FitOnce(train=50, settings=SETTINGS, epochs=10), Ahead(), sees_all=False)
    counts = replay(table, policy).counts
    assert (counts[:50] == 12).all()
    assert (counts[50:] < 12).mean() > 0.5
    belief = policy.forecaster.start()
    for seen in rounds_of(table.seconds[:51]):
        belief = policy.forecaster.learn(belief, seen)
    save_state(tmp_path / "s", type(policy.start())(belief, None))
    saved = load_state(tmp_path / "s", policy).belief
    one, other = (policy.forecaster.forecast(b, Roster.of(12)) for b in (belief, saved))
    assert np.array_equal(one.order_means, other.order_means)  # type: ignore[union-attr]


def test_gaps_are_filled_with_the_workers_own_mean() -> None:
    def seen(workers: list[int], seconds: list[float], observed: list[bool]) -> RunTimes:
        return RunTimes(
            np.array(workers), np.array(seconds), np.array(observed), np.full(len(workers), NO_NODE)
        )

    workers, rows = filled(
        (
            seen([2, 5], [1.0, 4.0], [True, True]),
            seen([2, 7], [3.0, 9.0], [True, True]),
            seen([2], [0.5], [False]),
        )
    )
    assert workers.tolist() == [2, 5, 7]
    assert rows.tolist() == [[1.0, 4.0, 9.0], [3.0, 4.0, 9.0], [2.0, 4.0, 9.0]]


def test_too_few_rounds_to_train_on_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least 22 rounds"):
        FitOnce(train=20)


def test_without_torch_everything_else_works_and_bdsgd_says_what_to_install() -> None:
    script = """
import sys
sys.modules["torch"] = None
from tailcut import names
from tailcut.errors import MissingExtraError
import tailcut.cli; tailcut.cli.load([])
assert "bdsgd" in names.policies() and names.policies()["bdsgd"].about
try:
    names.entrant("bdsgd")
except MissingExtraError as error:
    assert "tailcut[train]" in str(error), error
else:
    raise AssertionError
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_listing_policies_does_not_import_torch() -> None:
    script = (
        "import sys, tailcut.cli; from tailcut import names; names.policies(); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
