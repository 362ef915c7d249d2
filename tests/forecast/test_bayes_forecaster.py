"""`Bayes` as a whole."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailcut import names
from tailcut.errors import ParameterError
from tailcut.forecast import Bayes
from tailcut.forecast.bayes.belief import VARIANTS, BayesBelief
from tailcut.forecast.bayes.context import FEATURES
from tailcut.forecast.bayes.deep import HAZARDS, Deep
from tailcut.forecast.trend.cells import Cells
from tailcut.policy import Policy, PolicyState
from tailcut.rules import WaitAll
from tailcut.saved import load_state, save_state
from tailcut.shifts import honest, survival_of
from tailcut.testing.forecasters import same_forecast
from tailcut.testing.forecasts import check_forecast
from tailcut.testing.histories import run_times
from tailcut.types import NO_NODE, FloatArray, Forecast, IntArray, Roster, RunTimes


def network(scale: float = 1.0) -> Deep:
    rng = np.random.default_rng(0)
    sizes = (FEATURES, 6, 6, HAZARDS)
    pairs = [(sizes[k], sizes[k + 1]) for k in range(3)]
    return Deep(
        tuple(scale * rng.standard_normal(pair) / 3.0 for pair in pairs),
        tuple(scale * rng.standard_normal(size) / 3.0 for _, size in pairs),
    )


def told(
    seconds: FloatArray, observed: Any = True, workers: IntArray | None = None, nodes: IntArray | None = None
) -> RunTimes:
    n = len(seconds)
    ids = np.arange(n, dtype=np.int64) if workers is None else workers
    where = np.full(n, NO_NODE, np.int64) if nodes is None else nodes
    return RunTimes(ids, seconds, np.broadcast_to(observed, n).copy(), where)


def learnt(forecaster: Bayes, rounds: list[RunTimes]) -> BayesBelief:
    belief = forecaster.start()
    for seen in rounds:
        belief = forecaster.learn(belief, seen)
    assert belief is not None
    return belief


def roster(*workers: int, node: int = NO_NODE) -> Roster:
    ids = np.array(workers, np.int64)
    return Roster(ids, np.full(len(ids), node), np.full(len(ids), np.nan))


def quantile(forecast: Forecast, level: float) -> FloatArray:
    """Return `(n,)` each worker's own, averaged over all scenarios."""
    reached = 1.0 - (forecast.weights[forecast.groups].T[:, :, None] * forecast.survival).sum(axis=0)
    return np.array([np.interp(level, curve, forecast.times) for curve in reached])


def certain(forecast: Forecast | None) -> Forecast:
    assert forecast is not None
    return forecast


LOG_NORMAL = [told(np.exp(0.2 * row)) for row in np.random.default_rng(1).standard_normal((150, 20))]


@pytest.mark.parametrize("forecaster", [Bayes(), Bayes(scenarios=False)], ids=["scenarios", "independent"])
def test_equal_log_normal_workers_are_forecast_as_what_they_are(forecaster: Bayes) -> None:
    forecast = certain(forecaster.forecast(learnt(forecaster, LOG_NORMAL), roster(*range(20))))
    # Three standard errors of each quantile, from the 100 rounds of 20 workers that residuals are remembered for.
    for level, z, error in (
        (0.1, -1.2816, 0.023),
        (0.5, 0.0, 0.017),
        (0.9, 1.2816, 0.023),
        (0.99, 2.3263, 0.05),
    ):
        found = quantile(forecast, level)
        np.testing.assert_allclose(np.log(found).mean(), 0.2 * z, atol=error)
        # Beyond one in ten a worker's own 150 rounds say little.
        assert level > 0.9 or np.abs(np.log(found) - 0.2 * z).max() < 0.12


def test_what_is_cut_is_not_taken_for_fast() -> None:
    """The slower half is cut at its middle, one in ten of it is let finish: the upper quantiles come out true."""
    rng = np.random.default_rng(2)
    rounds = []
    for _ in range(300):
        seconds = np.exp(0.2 * rng.standard_normal(20))
        observed = (seconds <= 1.0) | (rng.random(20) < 0.1)
        rounds.append(told(np.where(observed, seconds, 1.0), observed))
    forecaster = Bayes()
    forecast = certain(forecaster.forecast(learnt(forecaster, rounds), roster(*range(20))))
    # About 300 are let finish; three standard errors of the quantiles of so many.
    for level, z, error in ((0.5, 0.0, 0.03), (0.9, 1.2816, 0.05), (0.99, 2.3263, 0.1)):
        assert np.log(quantile(forecast, level)).mean() == pytest.approx(0.2 * z, abs=error)


def test_workers_that_become_slow_for_good_are_followed() -> None:
    """A worker's own past is followed at once; the blend, until then best with one shape for all, within 40 rounds."""
    rng = np.random.default_rng(3)
    slow = np.where(np.arange(20) < 4, 3.0, 1.0)
    rounds = [told((slow if t >= 40 else 1.0) * np.exp(0.02 * rng.standard_normal(20))) for t in range(80)]
    forecaster = Bayes(scenarios=False)
    belief = learnt(forecaster, rounds[:44])
    reached = np.cumsum(belief.laws[VARIANTS.index("own")], axis=1)
    middle = belief.base.cells.ends((reached < 0.5).sum(axis=1))
    np.testing.assert_allclose(middle, slow, rtol=0.15)
    middle = quantile(certain(forecaster.forecast(learnt(forecaster, rounds), roster(*range(20)))), 0.5)
    np.testing.assert_allclose(middle, slow, rtol=0.05)


def test_without_scenarios_there_is_one() -> None:
    rng = np.random.default_rng(4)
    rounds = [
        told(
            np.where(np.arange(12) < 6, 1.0, 2.5 if t % 20 < 8 else 1.0)
            * np.exp(0.03 * rng.standard_normal(12)),
            nodes=np.repeat([0, 1], 6),
        )
        for t in range(80)
    ]
    there = Roster.of(12, np.repeat([0, 1], 6))
    alone, shared = Bayes(scenarios=False), Bayes()
    one = certain(alone.forecast(learnt(alone, rounds), there))
    assert one.survival.shape[0] == 1
    many = certain(shared.forecast(learnt(shared, rounds), there))
    assert one.shared is not None
    assert many.shared is not None
    assert ((one.shared.prior > 0.0).sum(axis=1) == 1).all()
    assert ((many.shared.prior > 1e-6).sum(axis=1) > 1).all()


def test_workers_that_leave_keep_what_is_known_of_them() -> None:
    rng = np.random.default_rng(5)
    usual = np.where(np.arange(10) == 7, 2.0, 1.0)
    everybody = [told(usual * np.exp(0.05 * rng.standard_normal(10))) for _ in range(60)]
    there = np.setdiff1d(np.arange(10), 7)
    without = [told(np.exp(0.05 * rng.standard_normal(9)), workers=there) for _ in range(30)]
    forecaster = Bayes()
    before, after = learnt(forecaster, everybody), learnt(forecaster, everybody + without)
    back = quantile(certain(forecaster.forecast(after, roster(*range(10)))), 0.5)
    np.testing.assert_allclose(back, usual, rtol=0.1)
    np.testing.assert_array_equal(after.laws[:, 7], before.laws[:, 7])
    np.testing.assert_array_equal(after.levels[7], before.levels[7])


def test_a_worker_that_joins_is_known_after_a_few_rounds() -> None:
    rng = np.random.default_rng(6)
    alone = [told(np.exp(0.05 * rng.standard_normal(8))) for _ in range(50)]
    slow = np.where(np.arange(9) == 3, 1.8, 1.0)  # it takes an id in the middle
    ids = np.array([0, 1, 2, 50, 3, 4, 5, 6, 7])
    order = np.argsort(ids)
    joined = [
        told((slow * np.exp(0.05 * rng.standard_normal(9)))[order], workers=ids[order]) for _ in range(6)
    ]
    forecaster = Bayes()
    belief = learnt(forecaster, alone + joined)
    middle = quantile(certain(forecaster.forecast(belief, roster(*ids[order].tolist()))), 0.5)
    np.testing.assert_allclose(middle, slow[order], rtol=0.12)


def test_a_worker_never_heard_of_has_everybody_s_law() -> None:
    forecaster = Bayes(scenarios=False)
    belief = learnt(forecaster, LOG_NORMAL)
    forecast = certain(forecaster.forecast(belief, roster(3, 77)))
    check_forecast(forecast, np.array([3, 77]))
    cells = belief.base.cells.position(forecast.times * (1.0 - 1e-9)).astype(int)
    middle = np.array([int(np.median(belief.base.levels))])
    with_freaks = survival_of(*honest(belief.everybody[None], middle, crowd=2))
    np.testing.assert_allclose(forecast.survival[0, 1, 1:], with_freaks[0, cells[1:]], atol=1e-9)


def test_a_belief_about_one_is_not_shared_with_unknown_ones_by_position() -> None:
    """Ids below, between and above those known; none of them is a known worker's neighbour by mistake."""
    forecaster = Bayes(scenarios=False)
    rng = np.random.default_rng(7)
    rounds = [
        told(np.exp(0.02 * rng.standard_normal(2)) * [1.0, 4.0], workers=np.array([5, 9])) for _ in range(60)
    ]
    forecast = certain(forecaster.forecast(learnt(forecaster, rounds), roster(1, 5, 7, 9, 30)))
    for unknown in (2, 4):
        np.testing.assert_array_equal(forecast.survival[0, 0], forecast.survival[0, unknown])
    middle = quantile(forecast, 0.5)
    np.testing.assert_allclose(middle[[1, 3]], [1.0, 4.0], rtol=0.06)


@pytest.mark.parametrize("deep", [None, network()], ids=["filters", "deep"])
def test_learning_leaves_the_old_belief_untouched(deep: Deep | None) -> None:
    forecaster, rng = Bayes(deep=deep), np.random.default_rng(8)
    belief = learnt(forecaster, LOG_NORMAL[:12])
    before = pickle.dumps(belief)
    forecaster.forecast(belief, roster(0, 4, 99))
    for workers, late in ((np.arange(20), False), (np.arange(3, 30), False), (np.array([4]), True)):
        forecaster.learn(belief, run_times(workers, rng, cut=0.4, late=late))
    forecaster.learn(belief, told(np.full(20, 400.0)))  # moves the unit
    assert pickle.dumps(belief) == before


@pytest.mark.parametrize("deep", [None, network()], ids=["filters", "deep"])
def test_the_same_input_gives_the_same_output(deep: Deep | None) -> None:
    forecaster = Bayes(deep=deep)
    one, other = (learnt(forecaster, LOG_NORMAL[:25]) for _ in range(2))
    assert pickle.dumps(one) == pickle.dumps(other)
    there = roster(*range(20))
    same_forecast(forecaster.forecast(one, there), forecaster.forecast(other, there))


def test_a_network_of_zeros_changes_nothing() -> None:
    """The difference is rounding error only: corrected laws are differences of sums."""
    plain, zeros = Bayes(), Bayes(deep=network(0.0))
    with_it, without = (
        certain(f.forecast(learnt(f, LOG_NORMAL[:25]), roster(*range(20)))) for f in (zeros, plain)
    )
    np.testing.assert_allclose(quantile(with_it, 0.9), quantile(without, 0.9), rtol=1e-6)


def test_a_network_changes_forecasts() -> None:
    plain, deep = Bayes(), Bayes(deep=network())
    with_it, without = (
        certain(f.forecast(learnt(f, LOG_NORMAL[:25]), roster(*range(20)))) for f in (deep, plain)
    )
    assert not np.allclose(quantile(with_it, 0.9), quantile(without, 0.9), rtol=1e-3)


def test_when_the_scale_of_time_changes_the_past_moves_with_it() -> None:
    """A belief in another unit is the same belief: run times a thousand times longer are soon foreseen as such."""
    rng = np.random.default_rng(9)
    forecaster = Bayes()
    belief: BayesBelief | None = learnt(forecaster, LOG_NORMAL[:40])
    for _ in range(25):
        belief = forecaster.learn(belief, told(1000.0 * np.exp(0.2 * rng.standard_normal(20))))
    assert belief is not None
    assert belief.base.cells != Cells.around(1.0)
    for law in (belief.everybody, *belief.levels, *belief.laws.reshape(-1, belief.laws.shape[-1])):
        assert law.sum() == pytest.approx(1.0)
    forecast = certain(forecaster.forecast(belief, roster(*range(20))))
    assert np.log(quantile(forecast, 0.5) / 1000.0).mean() == pytest.approx(0.0, abs=0.1)


def test_weights_stay_weights_and_favour_who_foresees() -> None:
    """Workers hold a value for long, which the shape of all workers at their median does not foresee."""
    rng = np.random.default_rng(10)
    forecaster, belief = Bayes(scenarios=False), Bayes().start()
    level = np.exp(0.5 * rng.standard_normal(20))
    for _ in range(150):
        moved = rng.random(20) < 0.05
        level = np.where(moved, np.exp(0.5 * rng.standard_normal(20)), level)
        belief = forecaster.learn(belief, told(level * np.exp(0.01 * rng.standard_normal(20))))
        assert belief is not None
        assert belief.weights.sum() == pytest.approx(1.0)
        assert (belief.weights >= 0.0).all()
    assert belief is not None
    assert belief.weights[VARIANTS.index("shape")] < 0.15


@pytest.mark.parametrize("deep", [None, network()], ids=["filters", "deep"])
def test_saved_and_restored_in_mid_run_it_goes_on_identically(deep: Deep | None, tmp_path: Path) -> None:
    forecaster = Bayes(deep=deep)
    policy = Policy(forecaster, WaitAll())
    one: BayesBelief | None = learnt(forecaster, LOG_NORMAL[:20])
    save_state(tmp_path / "state", PolicyState(one, policy.start().memory))
    other: BayesBelief | None = load_state(tmp_path / "state", policy).belief
    for seen in LOG_NORMAL[20:30]:
        one, other = forecaster.learn(one, seen), forecaster.learn(other, seen)
        assert pickle.dumps(one) == pickle.dumps(other)
    there = roster(*range(20))
    same_forecast(forecaster.forecast(one, there), forecaster.forecast(other, there))


def test_before_anything_was_seen_there_is_no_forecast() -> None:
    forecaster = Bayes()
    belief = forecaster.learn(forecaster.start(), told(np.ones(4), False))
    assert belief is None
    assert forecaster.forecast(belief, roster(0, 1)) is None


@pytest.mark.parametrize("name", ["memory", "adapt", "score_memory"])
def test_a_memory_of_one_round_is_refused(name: str) -> None:
    given: dict[str, Any] = {name: 1.0}
    with pytest.raises(ParameterError, match=f"{name} must be over 1 round, but got 1.0"):
        Bayes(**given)


def test_no_doubt_is_refused() -> None:
    with pytest.raises(ParameterError, match="doubt must be positive, but got 0"):
        Bayes(doubt=0.0)


def test_it_is_the_forecaster_of_the_policy_of_that_name() -> None:
    assert isinstance(names.entrant("bayes").policy.forecaster, Bayes)


def test_what_a_network_reads_does_not_depend_on_what_it_answered() -> None:
    """The network was trained on the context of forecasts without it."""
    without, with_it = (
        learnt(Bayes(scenarios=False, deep=deep), LOG_NORMAL[:25]) for deep in (None, network())
    )
    np.testing.assert_array_equal(without.context.rows, with_it.context.rows)


def test_a_network_that_proves_wrong_is_no_longer_trusted() -> None:
    """The network moves all run times to the tail; after some rounds the forecast is the one without it."""
    late = Deep(
        tuple(np.zeros(shape) for shape in ((FEATURES, 4), (4, 4), (4, HAZARDS))),
        (np.zeros(4), np.zeros(4), np.full(HAZARDS, -3.0)),
    )
    wrong, plain = Bayes(deep=late), Bayes()
    first, last = learnt(wrong, LOG_NORMAL[:1]), learnt(wrong, LOG_NORMAL[:60])
    assert first.trust > 0.5
    assert last.trust == 0.0
    there = roster(*range(20))
    same_forecast(wrong.forecast(last, there), plain.forecast(replace(last, corrected=last.plain), there))


def test_a_network_that_proves_right_stays_trusted() -> None:
    """Run times that alternate between the ends of their law: a network that reads the last surprise can tell."""
    flip = np.zeros((FEATURES, HAZARDS))
    flip[2, :6] = 2.0 * np.array([0.7, 0.7, 0.8, 1.0, 1.5, 3.0])  # a slow last time: in the faster half now
    foresight = Deep((np.eye(FEATURES), flip), (np.zeros(FEATURES), np.zeros(HAZARDS)))
    rng = np.random.default_rng(12)
    rounds = [
        told(np.where((np.arange(20) + t) % 2 == 0, 1.0, 1.5) * np.exp(0.1 * rng.standard_normal(20)))
        for t in range(80)
    ]
    belief = learnt(Bayes(scenarios=False, deep=foresight), rounds)
    assert belief.trust > 0.5
