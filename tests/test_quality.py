"""Least quality of `stopping`: on named clusters, and on recorded traces where TAILCUT_DATA names a folder.

The tests are smaller than the benchmark (`python -m benchmarks.sources`): a regression fails here first.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from benchmarks.optimal import fine_grid

from tailcut import names
from tailcut.bounds import clairvoyant
from tailcut.clusters import Iid
from tailcut.clusters.presets import PRESETS
from tailcut.engines.simulated import Run, replay
from tailcut.optimal import optimal_stopping
from tailcut.study.compare import Setting, compare
from tailcut.study.facts import PolicyFacts
from tailcut.table import Table

FOLDER = os.environ.get("TAILCUT_DATA")
needs_data = pytest.mark.skipif(FOLDER is None, reason="TAILCUT_DATA names no folder with traces/*.npz")


def found(source: str, policies: str, setting: Setting) -> dict[str, PolicyFacts]:
    entrants = [names.entrant(name) for name in policies.split(",")]
    return {facts.policy: facts for facts in compare(names.source(source), entrants, setting).policies}


@needs_data
@pytest.mark.parametrize(
    ("trace", "least"),
    [
        ("pai_job4_first_half", 0.985),
        ("bytedance_se_microbatches", 0.95),
        ("azure_mem_read", 0.97),
        ("pai_job1", 0.99),
        ("pai_job3", 0.99),
    ],
)
def test_on_recorded_traces(trace: str, least: float) -> None:
    assert FOLDER is not None
    facts = found(str(Path(FOLDER, "traces", f"{trace}.npz")), "stopping", Setting())
    ours = facts["stopping"].of_clairvoyant.mean
    assert ours >= least
    assert ours >= max(facts[b].of_clairvoyant.mean for b in ("best-static", "best-deadline")) - 0.01


@pytest.mark.parametrize(("source", "rounds"), [("demo8", 200), ("nodes16", 120)])
def test_the_learned_model_is_within_a_point_of_the_true_law(source: str, rounds: int) -> None:
    facts = found(source, "bayes", Setting(seeds=1, rounds=rounds))
    informed = facts["bayes"].of_informed
    assert informed is not None
    assert informed.mean >= 0.99


@pytest.mark.parametrize("late_finish", [False, True])
def test_on_nodes_that_slow_down(late_finish: bool) -> None:
    setting = Setting(late_finish=late_finish, seeds=1, rounds=100)
    facts = found("xeon158", "stopping,empirical,elfving,backup", setting)
    ours = facts["stopping"].of_clairvoyant.mean
    for rival in ("empirical", "elfving", "backup"):
        assert ours >= facts[rival].of_clairvoyant.mean + 0.03
    if late_finish:
        assert ours > max(facts[b].of_clairvoyant.mean for b in ("best-static", "best-deadline"))
    else:
        assert ours >= 0.96


def test_on_rare_stragglers_it_is_near_the_optimum() -> None:
    cluster = PRESETS["demo8"].factory()
    assert isinstance(cluster, Iid)
    times = fine_grid(cluster.marginal)
    best = optimal_stopping(times, cluster.marginal.survival(times), cluster.n, 0.0)
    table = cluster.sample(500, np.random.default_rng(3)).table
    counts, elapsed = best.run(table.seconds[50:])
    run = replay(table, names.entrant("stopping").policy)
    assert run.throughput(50) >= 0.97 * counts.sum() / elapsed.sum()


@pytest.mark.parametrize("seed", range(2))
def test_it_gets_out_of_the_trap(seed: int) -> None:
    """Eight of ten workers become three times slower for good at round 100 and are cut at first."""
    draw = names.source("trap10").draw(seed, rounds=400)
    run = replay(draw.table, names.entrant("stopping").policy)
    assert run.throughput(150) >= 0.97 * clairvoyant(draw.table).run.throughput(150)


def test_where_nothing_straggles_it_waits_for_all() -> None:
    rng = np.random.default_rng(0)
    table = Table.dense(np.exp(0.02 * rng.standard_normal((150, 16))))
    run = replay(table, names.entrant("stopping").policy)
    assert run.throughput(20) >= 0.995 * 16 / table.seconds[20:].max(axis=1).mean()


def test_exactly_two_sleepers_are_learnt() -> None:
    facts = found("eager", "stopping", Setting(seeds=1, rounds=300))
    assert facts["stopping"].of_best_static.mean >= 0.98


@pytest.mark.parametrize(("how", "arrival"), [("wait", 0), ("stale", 4)])
def test_fairness_bounds_how_long_a_worker_goes_without(how: str, arrival: int) -> None:
    """An old gradient taken as "stale" still needs its own time: four ordinary rounds for a worker so much slower."""
    rng = np.random.default_rng(1)
    seconds = np.exp(0.05 * rng.standard_normal((200, 10)))
    seconds[:, :2] *= 4.0
    run = replay(Table.dense(seconds), names.entrant(f"stopping:fair=20:how={how}").policy)
    longest = max(_longest_gap(run.accepted[:, worker]) for worker in (0, 1))
    assert longest <= 20 + arrival
    unfair = _unfair(seconds.tobytes())
    assert max(_longest_gap(unfair.accepted[:, worker]) for worker in (0, 1)) > 60
    assert run.throughput() > 0.85 * unfair.throughput()


@cache
def _unfair(seconds: bytes) -> Run:
    """The same run times without fairness, in rows of ten."""
    return replay(Table.dense(np.frombuffer(seconds).reshape(-1, 10)), names.entrant("stopping").policy)


def _longest_gap(accepted: np.ndarray) -> int:
    """Most rounds in a row without an accepted gradient."""
    marks = np.concatenate([[-1], np.flatnonzero(accepted), [len(accepted)]])
    return int(np.diff(marks).max()) - 1
