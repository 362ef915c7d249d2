"""`examples/mini.py` says in one file what the library says in many: both must say the same."""

from __future__ import annotations

import ast
import importlib.util
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import final

import numpy as np
import pytest

from tailcut.bounds import best_static
from tailcut.engines.simulated import Run, replay
from tailcut.forecast import Forecaster, NoForecast
from tailcut.likelihood import kaplan_meier
from tailcut.outlook import Outlook
from tailcut.policy import Policy
from tailcut.rules import Backup, Opening, Rule, Stopping, WaitAll
from tailcut.rules.calibration import Calibration
from tailcut.table import Table
from tailcut.types import Close, FloatArray, Forecast, Progress, Roster, RunTimes, Wait
from waiting import limit

# Looks at every arrival, and takes the forecast at its word, as mini does.
STOPPING = Stopping(skip=0.0, calibration=Calibration(sigmas=math.inf))
MINI = Path(__file__).parents[2] / "examples" / "mini.py"


@pytest.fixture(scope="module")
def mini() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mini", MINI)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@final
@dataclass(frozen=True)
class EveryTimeSeen(Forecaster[tuple[RunTimes, ...]]):
    """The same forecast as mini's `recent`, made of the library's parts: the grid is every time seen."""

    window: int = 20

    def start(self) -> tuple[RunTimes, ...]:
        return ()

    def learn(self, belief: tuple[RunTimes, ...], seen: RunTimes) -> tuple[RunTimes, ...]:
        return (*belief, seen)[-self.window :]

    def forecast(self, belief: tuple[RunTimes, ...], roster: Roster) -> Forecast | None:
        if not any(seen.observed.any() for seen in belief):
            return None
        times, survival = kaplan_meier(
            np.concatenate([seen.seconds for seen in belief]),
            np.concatenate([seen.observed for seen in belief]),
        )
        return Forecast.independent(roster.workers, times, survival)


def library(table: FloatArray, rule: Rule, overhead: float = 0.0, sees_all: bool = False) -> Run:
    return replay(Table.dense(table), Policy(EveryTimeSeen(), rule), overhead=overhead, sees_all=sees_all)


def tables(mini: ModuleType) -> dict[str, FloatArray]:
    """Run times in whole multiples of 2^-20 s: the library's clock then adds them up exactly, as mini's does."""
    rng = np.random.default_rng(7)
    drawn = {
        "demo8": mini.demo8(60, seed=3),
        "log-normal": np.exp(0.4 * rng.standard_normal((60, 12))),
        "shifted exponential": 1.0 + 0.25 * rng.exponential(size=(40, 30)),
        "steady": np.exp(0.001 * rng.standard_normal((30, 5))),
        "two workers": rng.uniform(0.5, 3.0, (40, 2)),
    }
    return {name: np.round(table * 2.0**20) / 2.0**20 for name, table in drawn.items()}


def curves(n: int) -> list[tuple[str, FloatArray, FloatArray]]:
    rng = np.random.default_rng(n)
    smooth = np.linspace(0.2, 4.0, 60)
    values = np.sort(rng.uniform(0.5, 3.0, 25))
    return [
        ("exponential", smooth, np.exp(-smooth)),
        ("empirical", values, 1.0 - np.arange(1, 26) / 25),
        ("some never come", values, 1.0 - 0.8 * np.arange(1, 26) / 25),
        ("two bumps", smooth, 0.9 * (smooth < 1.0) * (1.0 - smooth) + 0.1 * (smooth < 3.5)),
    ]


def moments(n: int) -> list[tuple[float, int]]:
    return [(e, c) for e in (0.0, 0.11, 0.6, 1.03, 2.2, 3.4, 5.0) for c in sorted({0, 1, n // 2, n - 1})]


def progress(n: int, elapsed: float, count: int) -> Progress:
    arrivals = np.full(n, np.inf)
    arrivals[:count] = elapsed
    return Progress(elapsed, arrivals, np.zeros(n, dtype=np.bool_), count)


def test_it_is_at_most_two_hundred_lines_and_needs_numpy_alone() -> None:
    text = MINI.read_text()
    assert len(text.splitlines()) <= 200
    imported = {
        name
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported == {"__future__", "collections.abc", "numpy"}


def test_it_prints_a_small_table() -> None:
    done = subprocess.run(
        [sys.executable, MINI], capture_output=True, text=True, check=True, timeout=limit(100)
    )
    assert not done.stderr
    header, *rows = done.stdout.splitlines()
    assert header.split()[:2] == ["policy", "grad/s"]
    rate = {row[:18].strip(): float(row[18:].split()[0]) for row in rows}
    assert list(rate) == ["wait-all", "backup:b=1", "best-static", "stopping, censored", "stopping, sees all"]
    assert rate["stopping, sees all"] > rate["best-static"] > rate["backup:b=1"] > rate["wait-all"]


def test_kaplan_meier_is_the_library_s(mini: ModuleType) -> None:
    rng = np.random.default_rng(0)
    seconds = rng.integers(1, 9, 60) / 4
    observed = rng.random(60) < 0.6
    times, survival = kaplan_meier(seconds, observed)
    np.testing.assert_allclose(mini.kaplan_meier(seconds, observed), (times, survival), atol=1e-12)


@pytest.mark.parametrize("overhead", [0.0, 0.25])
def test_wait_all_and_backup_close_as_in_the_library(mini: ModuleType, overhead: float) -> None:
    for table in tables(mini).values():
        rules: list[tuple[object, Rule]] = [(mini.wait_all, WaitAll())]
        rules += [(mini.backup(b), Backup(b=b)) for b in (0, 1, 3)]
        for small, large in rules:
            run = replay(Table.dense(table), Policy(NoForecast(), large), overhead=overhead)
            elapsed, counts = mini.replay(table, small, overhead)
            np.testing.assert_allclose(elapsed, run.elapsed, rtol=1e-9)
            assert counts.tolist() == run.counts.tolist()


@pytest.mark.parametrize("overhead", [0.0, 0.25])
def test_best_static_is_the_library_s(mini: ModuleType, overhead: float) -> None:
    for table in tables(mini).values():
        run = best_static(Table.dense(table), overhead).run
        elapsed, counts = mini.replay(table, mini.best_static(table, overhead), overhead)
        np.testing.assert_allclose(elapsed, run.elapsed)
        assert counts.tolist() == run.counts.tolist()


@pytest.mark.parametrize("n", [2, 8, 40])
def test_what_the_future_holds_is_what_the_library_s_outlook_says(mini: ModuleType, n: int) -> None:
    for name, times, survival in curves(n):
        outlook = Outlook(Forecast.independent(np.arange(n), times, survival))
        for elapsed, count in moments(n):
            state = progress(n, elapsed, count)
            theirs = outlook.future(elapsed, state.arrivals, state.gone)
            ours = mini.future(times, survival, elapsed, n - count)
            overdue = np.interp(elapsed, times, survival, left=1.0) <= 1e-12
            if overdue:
                # The library says of an overdue worker that nothing is known of it; mini says nothing at all.
                assert not theirs.arrivals.any()
                assert len(ours[0]) == 0
                continue
            # The library takes it as certain that one of more than 16 expected stragglers is out.
            for mine, full in zip(ours, (theirs.times, theirs.arrivals, theirs.waiting), strict=True):
                np.testing.assert_allclose(mine, full, atol=1e-6, err_msg=f"{name} at {elapsed}, {count} in")


@pytest.mark.parametrize("overhead", [0.0, 0.25])
@pytest.mark.parametrize("n", [2, 8, 40])
def test_price_and_decisions_are_those_of_the_library_s_rule(
    mini: ModuleType, n: int, overhead: float
) -> None:
    rule = STOPPING
    for name, times, survival in curves(n):
        forecast = Forecast.independent(np.arange(n), times, survival)
        plan = rule.plan(rule.start(), Opening(Roster.of(n), forecast, overhead))
        price = mini.price_of(times, survival, n, overhead)
        assert price == pytest.approx(plan.price, rel=1e-6)
        for elapsed, count in moments(n):
            decision = rule.decide(plan, progress(n, elapsed, count))
            ours = mini.stop_or_wait(times, survival, price, elapsed, count, n)
            where = f"{name} at {elapsed}, {count} in"
            if isinstance(decision, Close):
                assert ours == mini.CLOSE, where
            elif decision.until is None:
                assert (ours, decision) == (mini.FOREVER, Wait(count=1)), where
            else:
                assert ours == decision.until, where
                assert decision.count == count + 1, where


@pytest.mark.parametrize("sees_all", [False, True])
@pytest.mark.parametrize("overhead", [0.0, 0.25])
def test_stopping_closes_as_the_library_does_with_the_same_forecast(
    mini: ModuleType, overhead: float, sees_all: bool
) -> None:
    for name, table in tables(mini).items():
        run = library(table, STOPPING, overhead, sees_all)
        elapsed, counts = mini.replay(table, mini.stopping, overhead, sees_all)
        np.testing.assert_allclose(elapsed, run.elapsed, rtol=1e-12, err_msg=name)
        assert counts.tolist() == run.counts.tolist(), name
