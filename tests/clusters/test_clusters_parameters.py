"""Presets are complete and described; impossible parameters are refused with value and remedy."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest

from tailcut.clusters import (
    PRESETS,
    Cluster,
    Drift,
    FailAndReturn,
    FailAt,
    FixedLevels,
    GroupsInTurn,
    Iid,
    Independent,
    LogNormal,
    MarkovNodes,
    PersistentStates,
    SleepingRanks,
    SlowAt,
    Switch,
    fail_at,
    slow_at,
)
from tailcut.errors import ParameterError
from tailcut.table import Table

NAMES = [
    "iid-normal",
    "iid-lognormal",
    "iid-exponential",
    "iid-pareto",
    "demo8",
    "xeon158",
    "knl2175",
    "nodes16",
    "groups-in-turn",
    "persistent",
    "fixed-mix",
    "drift",
    "sudden-change",
    "trap10",
    "eager",
    "niagara",
    "cedar",
    "fail-and-return",
    "random",
]
TWO = Iid(LogNormal(), 2)


def test_every_named_cluster_is_there() -> None:
    assert list(PRESETS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_presets_say_what_they_are_and_take_parameters(name: str) -> None:
    preset = PRESETS[name]
    assert preset.name == name
    assert 0 < len(preset.about) <= 90
    assert 200 <= preset.rounds <= 1000
    # A seed may bring an overhead of its own.
    assert preset.factory().overhead == 0 or name == "random"
    parameters = inspect.signature(preset.factory).parameters
    assert all(p.default is not inspect.Parameter.empty for p in parameters.values())
    cluster = preset.factory(n=40, overhead=0.5)
    assert cluster.workers == 40
    assert cluster.overhead == 0.5
    assert preset.factory(n=40, overhead=0.5) == cluster
    assert len({cluster, preset.factory(n=40, overhead=0.5)}) == 1


@pytest.mark.parametrize(
    ("name", "workers"), [("xeon158", 158), ("knl2175", 2175), ("demo8", 8), ("trap10", 10), ("nodes16", 16)]
)
def test_numbers_in_names_are_worker_counts(name: str, workers: int) -> None:
    assert PRESETS[name].factory().workers == workers


def test_slow_work_in_demo8_is_nine_times_slower_in_a_tenth_of_cases() -> None:
    x = PRESETS["demo8"].factory().sample(5000, np.random.default_rng(1)).table.seconds
    assert np.mean(x > 3) == pytest.approx(0.1, abs=5 * np.sqrt(0.09 / x.size))
    assert np.median(x[x > 3]) == pytest.approx(9, rel=0.01)
    assert np.median(x[x < 3]) == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Iid(LogNormal(), 0), "n must be a whole number >= 1, but got 0; give 1 or more"),
        (lambda: Iid(LogNormal(), 2.5), "n must be a whole number"),
        (lambda: Iid(LogNormal(), 2, overhead=-1.0), r"overhead must be >= 0 and finite, but got -1\.0"),
        (lambda: Independent(()), "marginals must hold one law"),
        (lambda: MarkovNodes(n=3, node_count=4), "node_count must be at most n = 3, but got 4"),
        (lambda: MarkovNodes(p_slow=1.1), "p_slow must be between 0 and 1, but got 1.1"),
        (lambda: MarkovNodes(p_recover=0.0), "p_recover must be > 0"),
        (lambda: MarkovNodes(rho=1.0), "rho must be >= 0 and < 1, but got 1.0"),
        (lambda: MarkovNodes(noise=0.0), "sd or noise must be > 0"),
        (lambda: MarkovNodes(factor=0.5), "factor must be >= 1"),
        (lambda: GroupsInTurn(n=3), "groups must be at most n = 3, but got 4"),
        (lambda: GroupsInTurn(period=0), "period must be a whole number >= 1"),
        (lambda: FixedLevels(spread=-0.1), "spread must be >= 0"),
        (lambda: PersistentStates(slow_share=1.0), "slow_share must be < 1"),
        (lambda: PersistentStates(low=3.0, high=2.0), "exceed low = 3, but got 2.0"),
        (lambda: PersistentStates(slow_share=0.9, dwell=2.0), "must be between 0 and 1, but got 4.5"),
        (lambda: Drift(shape="square"), 'shape must be "sine" or "linear", but got \'square\''),
        (lambda: Switch(TWO, Iid(LogNormal(), 3), at=5), r"equally many workers, but got \(2, 3\)"),
        (lambda: Switch(TWO, TWO, at=0), "at must be a whole number >= 1"),
        (lambda: SleepingRanks(n=2, sleepers=3), "sleepers must be at most n = 2, but got 3"),
        (lambda: FailAndReturn(safe=1), "safe must be a whole number >= 2"),
        (lambda: FailAndReturn(n=3, safe=4), "safe must be at most n = 3"),
        (lambda: SlowAt(TWO, 2, 0, 2.0), "worker must be one of 0..1, but got 2"),
        (lambda: SlowAt(TWO, 0, 0, 0.0), "factor must be > 0"),
        (lambda: FailAt(TWO, 0, 5, back=5), "back must come after round 5, but got 5"),
        (lambda: FailAt(Iid(LogNormal(), 1), 0, 5), "use two workers or more"),
        (lambda: fail_at(Table.dense(np.ones((2, 2))), 3, 0), "worker must be one of 0..1, but got 3"),
        (lambda: slow_at(Table.dense(np.ones((2, 2))), 0, 0, 2.0, rounds=0), "rounds must be a whole number"),
        (lambda: PRESETS["trap10"].factory(slower=11), "slower must be at most n = 10, but got 11"),
    ],
)
def test_impossible_parameters_are_refused(make: Callable[[], Cluster], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()
