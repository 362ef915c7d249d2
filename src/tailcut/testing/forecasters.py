"""The test suite that every forecaster passes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tailcut.forecast.base import Forecaster
from tailcut.testing.forecasts import check_forecast
from tailcut.testing.histories import read_only, run_times
from tailcut.types import NO_NODE, Forecast, IntArray, Roster

ROUNDS = 12


def roster_of(workers: IntArray, nodes: int = 0) -> Roster:
    """Return the roster of these workers, none of them busy with older work; read-only."""
    where = workers % nodes if nodes else np.full(len(workers), NO_NODE, dtype=np.int64)
    roster = Roster(workers, where, np.full(len(workers), np.nan))
    for array in (roster.workers, roster.nodes, roster.busy):
        read_only(array)
    return roster


def frozen(belief: Any) -> bytes:
    """Return a belief as bytes, to compare it with itself later."""
    return pickle.dumps(belief)


def same_forecast(one: Forecast | None, other: Forecast | None, scale: float = 1.0) -> None:
    """Fail an assertion unless `other` is `one` with all times multiplied by `scale`, to the last bit."""
    if one is None or other is None:
        assert one is other
        return
    assert np.array_equal(one.times * scale, other.times)
    assert np.array_equal(one.survival, other.survival)
    assert np.array_equal(one.weights, other.weights)
    assert np.array_equal(one.groups, other.groups)
    assert (one.order_means is None) == (other.order_means is None)
    if one.order_means is not None and other.order_means is not None:
        assert np.array_equal(one.order_means * scale, other.order_means)


class ForecasterSuite:
    """Tests of a forecaster. Override `forecaster`. Forecasts may be None while too little is known.

    Worker ids lie between 0 and 40. If forecasts do not come from observed run times (the true law of a
    cluster, say), set `from_what_was_seen = False`: the suite then does not change the unit of time.
    """

    from_what_was_seen = True

    @pytest.fixture
    def forecaster(self) -> Forecaster[Any]:
        """The forecaster under test."""
        raise NotImplementedError("Override the fixture `forecaster` to say which forecaster is tested.")

    def learnt(self, forecaster: Forecaster[Any], workers: IntArray, **how: Any) -> Any:
        """Return the belief after some rounds of these workers."""
        belief, rng = forecaster.start(), np.random.default_rng(len(workers))
        for _ in range(ROUNDS):
            belief = forecaster.learn(belief, run_times(workers, rng, **how))
        return belief

    @pytest.mark.parametrize("cut", [0.0, 0.4])
    @pytest.mark.parametrize("nodes", [0, 3])
    @pytest.mark.parametrize("n", [1, 2, 5, 24])
    def test_forecasts_are_laws_for_any_number_of_workers(
        self, forecaster: Forecaster[Any], n: int, nodes: int, cut: float
    ) -> None:
        """The forecast of every round, from the first on, is a joint law of the workers' run times."""
        workers = np.arange(n, dtype=np.int64)
        belief, rng = forecaster.start(), np.random.default_rng(n)
        for _ in range(ROUNDS):
            forecast = forecaster.forecast(belief, roster_of(workers, nodes))
            if forecast is not None:
                check_forecast(forecast, workers)
            belief = forecaster.learn(belief, run_times(workers, rng, cut, nodes))

    def test_workers_may_join_leave_and_come_back(self, forecaster: Forecaster[Any]) -> None:
        """Forecasts are valid for ids with gaps, and for rosters with workers that were never seen."""
        rng = np.random.default_rng(0)
        belief = forecaster.start()
        everyone = np.arange(0, 40, 3, dtype=np.int64)
        for _ in range(3 * ROUNDS):
            there = np.sort(rng.choice(everyone, rng.integers(1, len(everyone) + 1), replace=False))
            belief = forecaster.learn(belief, run_times(there, rng, cut=0.2))
            for workers in (there, everyone, np.array([7, 8, 40])):
                forecast = forecaster.forecast(belief, roster_of(workers))
                if forecast is not None:
                    check_forecast(forecast, workers)

    def test_rounds_of_which_nothing_was_seen_are_accepted(self, forecaster: Forecaster[Any]) -> None:
        """Rounds without an observed run time may come first, in between, and last."""
        workers, rng = np.arange(5, dtype=np.int64), np.random.default_rng(1)
        belief = forecaster.start()
        for cut in (1.0, 1.0, 0.0, 1.0, 0.5, 1.0, 1.0):
            belief = forecaster.learn(belief, run_times(workers, rng, cut))
            forecast = forecaster.forecast(belief, roster_of(workers))
            if forecast is not None:
                check_forecast(forecast, workers)

    def test_late_reports_are_accepted(self, forecaster: Forecaster[Any]) -> None:
        """Late reports may be of known and unknown workers, and come before and after rounds."""
        rng = np.random.default_rng(2)
        belief = forecaster.start()
        for late in (True, False, True, True, False):
            for workers in (np.array([4]), np.array([1, 2, 9])):
                belief = forecaster.learn(belief, run_times(workers, rng, cut=0.3, late=late))
                forecast = forecaster.forecast(belief, roster_of(workers))
                if forecast is not None:
                    check_forecast(forecast, workers)

    def test_workers_busy_with_older_work_arrive_later(self, forecaster: Forecaster[Any]) -> None:
        """A worker busy with older work is forecast to arrive later, and other workers as before."""
        workers = np.arange(6, dtype=np.int64)
        belief = self.learnt(forecaster, workers)
        fresh = forecaster.forecast(belief, roster_of(workers))
        busy = np.array([np.nan, 0.0, 0.2, 0.9, 30.0, np.nan])
        late = forecaster.forecast(belief, Roster(workers, np.full(6, NO_NODE), busy))
        if fresh is None or late is None:
            assert fresh is late
            return
        check_forecast(late, workers)
        means = [(f.weights[f.groups].T[:, :, None] * f.survival).sum(axis=0) for f in (fresh, late)]
        areas = [np.trapezoid(mean, f.times, axis=1) for mean, f in zip(means, (fresh, late), strict=True)]
        idle = np.isnan(busy)
        assert np.allclose(areas[0][idle], areas[1][idle], rtol=0.05)
        assert (areas[1][~idle] > areas[0][~idle]).all()

    def test_a_belief_never_changes(self, forecaster: Forecaster[Any]) -> None:
        """Neither learning nor forecasting changes a belief, so a reference to it is a snapshot."""
        workers, rng = np.arange(7, dtype=np.int64), np.random.default_rng(3)
        belief = self.learnt(forecaster, workers, cut=0.2)
        before = frozen(belief)
        forecaster.forecast(belief, roster_of(workers))
        forecaster.learn(belief, run_times(np.arange(9, dtype=np.int64), rng, cut=0.5))
        assert frozen(belief) == before

    def test_the_same_run_times_give_the_same_forecast(self, forecaster: Forecaster[Any]) -> None:
        """Forecasts depend on no clock and no randomness."""
        workers = np.arange(7, dtype=np.int64)
        one, other = (self.learnt(forecaster, workers, cut=0.2, nodes=2) for _ in range(2))
        roster = roster_of(workers, nodes=2)
        same_forecast(forecaster.forecast(one, roster), forecaster.forecast(other, roster))

    def test_a_belief_can_be_saved_and_restored(self, forecaster: Forecaster[Any]) -> None:
        """A restored belief gives the same forecast after the next round as the saved one."""
        workers, rng = np.arange(7, dtype=np.int64), np.random.default_rng(4)
        belief = self.learnt(forecaster, workers, cut=0.2)
        restored = pickle.loads(frozen(belief))
        more = run_times(workers, rng, cut=0.2)
        one, other = (
            forecaster.forecast(forecaster.learn(b, more), roster_of(workers)) for b in (belief, restored)
        )
        same_forecast(one, other)

    @pytest.mark.parametrize("power", [-7, 30])
    def test_the_unit_of_time_means_nothing(self, forecaster: Forecaster[Any], power: int) -> None:
        """Run times multiplied by a power of two multiply the forecast's times, and change nothing else."""
        if not self.from_what_was_seen:
            pytest.skip("its forecasts do not come from what was seen")
        workers, scale = np.arange(9, dtype=np.int64), 2.0**power
        one = other = forecaster.start()
        rng, again = np.random.default_rng(5), np.random.default_rng(5)
        busy = np.where(workers < 2, 0.25, np.nan)
        for _ in range(ROUNDS):
            seen, same = (
                run_times(workers, rng, cut=0.3, nodes=3),
                run_times(workers, again, cut=0.3, nodes=3),
            )
            one = forecaster.learn(one, seen)
            other = forecaster.learn(
                other, type(same)(same.workers, same.seconds * scale, same.observed, same.nodes)
            )
            forecasts = [
                forecaster.forecast(belief, Roster(workers, workers % 3, busy * unit))
                for belief, unit in ((one, 1.0), (other, scale))
            ]
            same_forecast(forecasts[0], forecasts[1], scale)
