"""Properties of every policy: it follows its cutoff, and neither worker names nor the unit of time matter."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.acceptance import SYNCHRONOUS, Acceptance
from tailcut.clusters.presets import PRESETS
from tailcut.engines.simulated import Run, replay
from tailcut.policy import Policy
from tailcut.policy_names import POLICIES
from tailcut.table import Table

ROUNDS, OVERHEAD = 30, 0.07
LONGER = {"drop-compute": 60}
"""Rounds of policies that wait for all until they have seen fifty."""

USUAL = [name for name, named in POLICIES.items() if named.usual]
STALE = [name for name, named in POLICIES.items() if named.acceptance != SYNCHRONOUS]

# Small clusters of every kind: independent, with nodes, with steps, with workers that come and go.
SOURCES: dict[str, dict[str, Any]] = {
    "demo8": {},
    "iid-lognormal": {"n": 9},
    "nodes16": {},
    "fixed-mix": {"n": 10},
    "trap10": {"at": 15},
    "fail-and-return": {"n": 9, "p_fail": 0.04, "p_return": 0.2},
}

LATE_FINISH = {source: place % 2 == 1 for place, source in enumerate(SOURCES)}
"""Map of each source to whether late workers finish; each policy plays half of the sources in each mode."""


@cache
def sampled(source: str, name: str) -> Table:
    cluster = PRESETS[source].factory(**SOURCES[source])
    return cluster.sample(LONGER.get(name, ROUNDS), np.random.default_rng(0)).table


def made(name: str, **parameters: Any) -> tuple[Policy, Acceptance]:
    named = POLICIES[name]
    return named.make(**parameters), named.acceptance


def run(
    table: Table,
    policy: Policy,
    acceptance: Acceptance = SYNCHRONOUS,
    late_finish: bool = False,
    scale: float = 1.0,
) -> Run:
    return replay(
        table,
        policy,
        late_finish=late_finish,
        overhead=OVERHEAD * scale,
        acceptance=acceptance,
        micro=policy.micro,
        sees_all=policy.sees_all,
    )


@cache
def plain(name: str, source: str, late_finish: bool) -> Run:
    """The run that the others of the same policy and source are compared with."""
    return run(sampled(source, name), *made(name), late_finish)


def scaled(table: Table, factor: float) -> Table:
    return Table(table.seconds * factor, table.observed, table.names, table.nodes)


def spread_out(table: Table) -> Table:
    """Rename worker i to 3 i + 1; the columns between have no worker."""
    n = 3 * table.workers + 1
    seconds = np.full((table.rounds, n), np.nan)
    nodes = np.full(n, -1)
    seconds[:, 1::3], nodes[1::3] = table.seconds, table.nodes
    observed = np.zeros(seconds.shape, dtype=np.bool_)
    observed[:, 1::3] = table.observed
    return Table(seconds, observed, tuple(range(n)), nodes)


@pytest.mark.parametrize(("source", "late_finish"), LATE_FINISH.items())
@pytest.mark.parametrize("name", USUAL)
def test_a_round_takes_between_one_and_all_of_those_who_are_there(
    name: str, source: str, late_finish: bool
) -> None:
    table, simulated = sampled(source, name), plain(name, source, late_finish)
    assert simulated.rounds == table.rounds
    assert (simulated.counts >= 1).all()
    assert (simulated.counts <= (~np.isnan(table.seconds)).sum(axis=1)).all()
    assert (simulated.values <= simulated.counts).all()
    assert (simulated.elapsed > 0.0).all()
    assert not (simulated.accepted & ~table.observed).any()


@pytest.mark.parametrize("source", ["nodes16", "fixed-mix", "trap10", "fail-and-return"])
@pytest.mark.parametrize("name", [*USUAL, *STALE])
def test_the_unit_of_time_means_nothing(name: str, source: str) -> None:
    """Nor do two runs of the same run times differ in anything."""
    late_finish = LATE_FINISH[source]
    factor = 2.0**-9 if late_finish else 2.0**40
    seconds = plain(name, source, late_finish)
    others = run(scaled(sampled(source, name), factor), *made(name), late_finish, scale=factor)
    assert np.array_equal(others.accepted, seconds.accepted)
    for field in ("elapsed", "idle"):
        assert np.array_equal(getattr(others, field), getattr(seconds, field) * factor), field
    for field in ("counts", "values", "staleness"):
        assert np.array_equal(getattr(others, field), getattr(seconds, field)), field


@pytest.mark.parametrize("source", ["nodes16", "fail-and-return"])
@pytest.mark.parametrize("name", [*USUAL, *STALE])
def test_gaps_between_ids_mean_nothing(name: str, source: str) -> None:
    late_finish = LATE_FINISH[source]
    one = plain(name, source, late_finish)
    other = run(spread_out(sampled(source, name)), *made(name), late_finish)
    assert np.array_equal(other.accepted[:, 1::3], one.accepted)
    assert other.accepted.sum() == one.accepted.sum()
    assert np.array_equal(other.elapsed, one.elapsed)


# Exploring breaks ties between workers by their ids.
BY_NAME = {name: {"explore": False} for name in ("trend", "stopping", "bayes")}


@pytest.mark.parametrize("source", ["nodes16", "fixed-mix"])
@pytest.mark.parametrize("name", [*USUAL, *STALE])
def test_workers_that_change_places_change_places_in_what_is_accepted(name: str, source: str) -> None:
    late_finish = LATE_FINISH[source]
    table, (policy, acceptance) = sampled(source, name), made(name, **BY_NAME.get(name, {}))
    assert len(np.unique(table.seconds)) == table.seconds.size, "without ties"
    order = np.random.default_rng(1).permutation(table.workers)
    moved = Table(table.seconds[:, order], table.observed, table.names, table.nodes[order])
    one = run(table, policy, acceptance, late_finish) if name in BY_NAME else plain(name, source, late_finish)
    other = run(moved, policy, acceptance, late_finish)
    assert np.array_equal(other.accepted, one.accepted[:, order])
    assert np.array_equal(other.elapsed, one.elapsed)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 6).flatmap(
        lambda n: st.lists(st.lists(st.integers(1, 99), min_size=n, max_size=n), min_size=1, max_size=6)
    ),
    late_finish=st.booleans(),
)
def test_waiting_for_all_is_plain_synchronous_sgd(rows: list[list[int]], late_finish: bool) -> None:
    seconds = np.array(rows, dtype=np.float64)
    simulated = replay(
        Table.dense(seconds), POLICIES["wait-all"].make(), late_finish=late_finish, overhead=0.5
    )
    assert np.array_equal(simulated.elapsed, seconds.max(axis=1))
    assert simulated.accepted.all()
    assert simulated.throughput() == seconds.size / (seconds.max(axis=1) + 0.5).sum()


def test_policies_are_given_something_to_decide() -> None:
    for name in USUAL:
        taken = [plain(name, *where).values.sum() for where in LATE_FINISH.items()]
        shares = np.array(taken) / [(~np.isnan(sampled(source, name).seconds)).sum() for source in SOURCES]
        if name == "wait-all":
            assert min(shares[:-1]) == 1.0
        elif name != "backup":
            assert min(shares) < 0.95, name
