"""Calibration: silent under the right law whatever the rule for closing, loud where workers depend on each other."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut.clusters.presets import PRESETS
from tailcut.engines.simulated import replay
from tailcut.forecast import Truth
from tailcut.outlook import Outlook
from tailcut.policy import Policy
from tailcut.rules import Stopping
from tailcut.rules.calibration import MOST_OUT, Calibration, Checks, Correction
from tailcut.types import Fate, Forecast, Roster, RoundRecord, RunTimes

N = 6
TIMES = np.linspace(0.05, 8.0, 160)
EXPONENTIAL = Forecast.independent(np.arange(N), TIMES, np.exp(-TIMES))
NOTHING = RunTimes(np.empty(0, np.int64), np.empty(0), np.empty(0, np.bool_), np.empty(0, np.int64))


def record(times: np.ndarray, close: float) -> RoundRecord:
    arrivals = np.where(times <= close, times, np.inf)
    used = np.isfinite(arrivals)
    return RoundRecord(
        version=0,
        opened=0.0,
        elapsed=close,
        overhead=0.0,
        roster=Roster.of(len(times)),
        arrivals=arrivals,
        accepted=used.astype(np.int64),
        shares=np.ones(len(times)),
        fates=np.where(used, Fate.USED, Fate.ABANDONED).astype(np.int64),
        run_times=NOTHING,
        staleness=np.zeros(int(used.sum()), np.int64),
    )


def after(rounds: int, close_of: str, sleepers: bool = False) -> Checks:
    """Rounds of exponential workers, closed at a fixed time or at the fourth arrival."""
    rng = np.random.default_rng(0)
    calibration, outlook = Calibration(memory=1e9), Outlook(EXPONENTIAL)
    out = calibration.start()
    for _ in range(rounds):
        times = rng.exponential(size=N)
        if sleepers:
            times[rng.choice(N, 2, replace=False)] = 100.0
        ordered = np.sort(times)
        close = 1.3 if close_of == "time" else float(ordered[3])
        if ordered[0] < close:
            out = calibration.learn(out, outlook, record(times, close))
    return out


@pytest.mark.parametrize("close_of", ["time", "count"])
def test_under_the_right_law_nothing_is_corrected_however_rounds_are_closed(close_of: str) -> None:
    found = after(600, close_of)
    k = np.flatnonzero(found.expected > 50)
    assert len(k) >= 3
    # Six hundred rounds: the ratio of a Poisson-like count of 300 or more to its mean, at four deviations.
    np.testing.assert_allclose(found.came[k] / found.expected[k], 1.0, atol=0.25)
    assert (Calibration().correction(found).factors == 1.0).mean() >= 0.7


def test_sleepers_are_found_out() -> None:
    found = after(200, "time", sleepers=True)
    factors = Calibration().correction(found).factors
    assert factors[2] < 0.1
    assert factors[4] > 0.3


def test_surprise_is_minus_log_of_silence() -> None:
    outlook = Outlook(EXPONENTIAL)
    arrivals = np.array([0.2, 0.4, *([np.inf] * 4)])
    assert outlook.surprise(0.4, 1.0, arrivals) == pytest.approx(4 * 0.6, rel=0.01)
    assert outlook.surprise(0.4, 0.4, arrivals) == pytest.approx(0.0, abs=1e-9)


def test_surprise_mixes_over_scenarios() -> None:
    fast, slow = np.exp(-TIMES / 0.5), np.exp(-TIMES / 5.0)
    survival = np.stack([np.tile(fast, (2, 1)), np.tile(slow, (2, 1))])
    forecast = Forecast(np.arange(2), TIMES, survival, np.array([[0.5, 0.5]]), np.zeros(2, np.int64))
    silent = 0.5 * np.exp(-2 * 1.0 / 0.5) + 0.5 * np.exp(-2 * 1.0 / 5.0)
    found = Outlook(forecast).surprise(0.0, 1.0, np.full(2, np.inf))
    assert found == pytest.approx(-np.log(silent), rel=0.01)


def test_a_correction_reaches_as_far_as_was_tested() -> None:
    factors, reach = np.ones(MOST_OUT + 1), np.zeros(MOST_OUT + 1)
    factors[2], reach[2] = 0.1, 1.0
    ahead = np.array([0.5, 1.0, 2.0, 3.0])
    arrivals = np.array([0.2, 0.4, 1.0, 1.9])
    corrected = Correction(factors, reach).applied(arrivals, ahead, out=2)
    np.testing.assert_allclose(corrected, [0.02, 0.04, 0.64, 1.54])
    assert Correction(factors, reach).applied(arrivals, ahead, out=3) is arrivals
    assert Correction(factors, reach).applied(arrivals, ahead, out=MOST_OUT + 1) is arrivals


@pytest.mark.parametrize("name", ["nodes16", "demo8", "cedar"])
def test_with_the_truth_it_costs_nothing(name: str) -> None:
    cluster = PRESETS[name].factory()
    sample = cluster.sample(250, np.random.default_rng(0))
    truth = Truth(cluster.law, sample.hidden)
    never = Stopping(calibration=Calibration(sigmas=1e9))
    with_it = replay(sample.table, Policy(truth, Stopping())).throughput()
    without = replay(sample.table, Policy(truth, never)).throughput()
    assert with_it == pytest.approx(without, rel=0.005)
