"""The stream of updates: work that is begun, used, dropped or late, and answers to the stream."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.acceptance import (
    ASYNCHRONOUS,
    BATCH_SYNCHRONOUS,
    STALE_SYNCHRONOUS,
    SYNCHRONOUS,
    Acceptance,
    bounded_stale,
)
from tailcut.clusters.presets import PRESETS
from tailcut.engines.simulated import Jobs, replay, updates
from tailcut.engines.simulated.fixed import fixed_updates
from tailcut.policies import backup, stopping, wait_all
from tailcut.policy import Policy
from tailcut.table import Table
from tailcut.types import Measured, RoundRecord, WorkerId
from tailcut.work import Update, Work

ACCEPTANCES = {
    "synchronous": SYNCHRONOUS,
    "batch": BATCH_SYNCHRONOUS,
    "stale": STALE_SYNCHRONOUS,
    "bounded": bounded_stale(2),
    "async": ASYNCHRONOUS,
}


def drawn(cluster: str, rounds: int, seed: int = 0, **parameters: object) -> Table:
    return PRESETS[cluster].factory(**parameters).sample(rounds, np.random.default_rng(seed)).table


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(ACCEPTANCES)),
    st.sampled_from(["demo8", "fail-and-return", "persistent"]),
    st.integers(1, 8),
    st.booleans(),
    st.integers(0, 5),
)
def test_every_piece_of_work_has_one_fate(kind: str, cluster: str, c: int, finish: bool, seed: int) -> None:
    table = drawn(cluster, 25, seed)
    seen: list[Update] = list(updates(table, backup(c=c), acceptance=ACCEPTANCES[kind], late_finish=finish))
    started = Counter(work for update in seen for work in update.started)
    ended = Counter(work for update in seen for work in (*update.accepted, *update.dropped, *update.late))
    assert all(count == 1 for count in started.values())
    assert not ended - started
    # The rest is still being computed, or has just arrived: at most one piece of each kind for a worker.
    left = Counter(work.worker for work in started - ended)
    assert all(count <= 2 for count in left.values())
    for update in seen:
        assert update.record.count == len(update.accepted) == len(update.shares)
        ages = [update.record.version - work.version for work in update.accepted]
        assert ages == update.record.staleness.tolist()


def test_async_goes_on_until_the_work_is_used_up() -> None:
    table = drawn("demo8", 12)
    seen = list(updates(table, backup(c=1), acceptance=ASYNCHRONOUS))
    assert len(seen) > 5 * 8
    used = [work for update in seen for work in update.accepted]
    assert len(set(used)) == len(used)
    by_worker = {w: [work.number for work in used if work.worker == w] for w in range(8)}
    assert all(numbers == list(range(len(numbers))) for numbers in by_worker.values())
    assert len(list(updates(table, backup(c=1), acceptance=ASYNCHRONOUS, rounds=7))) == 7


def test_a_replay_is_the_same_run() -> None:
    table = drawn("nodes16", 30)
    seen, run = list(updates(table, stopping())), replay(table, stopping())
    assert [len(update.accepted) for update in seen] == run.counts.tolist()
    assert [update.closed - update.opened for update in seen] == pytest.approx(run.elapsed.tolist())


class Listening:
    """A policy that keeps what it was told."""

    def __init__(self) -> None:
        self.inner: Policy = wait_all()
        self.records: list[RoundRecord] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def learn(self, state: object, plan: object, record: RoundRecord, reports: object) -> object:
        self.records.append(record)
        return self.inner.learn(state, plan, record, reports)  # type: ignore[arg-type]


def test_what_gradients_showed_is_learnt_with_their_round() -> None:
    table, policy = drawn("demo8", 5), Listening()
    stream = updates(table, policy)  # type: ignore[arg-type]
    next(stream)
    for k in range(4):
        stream.send(Measured(float(k), 8, 1, 1.0, 2.0, 4.0, 0.1))
    stream.close()
    told = [None if record.measured is None else record.measured.loss for record in policy.records]
    assert told == [0.0, 1.0, 2.0, 3.0][: len(told)]
    assert len(told) >= 3


class Twice(Jobs):
    """Every second mini-batch is three times as long, and dropped ones are counted."""

    def __init__(self) -> None:
        self.count = 0

    def begin(self, worker: WorkerId, row: int) -> tuple[int, float]:
        return row + 100, 3.0 if row % 2 else 1.0

    def dropped(self, work: Work) -> None:
        self.count += 1


def test_jobs_name_the_mini_batch_and_say_how_long_it_is() -> None:
    table, jobs = drawn("demo8", 10), Twice()
    before = table.seconds.copy()
    seen = list(updates(table, backup(c=6), jobs=jobs))
    for row, update in enumerate(seen):
        assert {work.number for work in update.accepted} == {row + 100}
        times = np.sort(before[row] * (3.0 if row % 2 else 1.0))
        assert update.record.elapsed == pytest.approx(times[5])
    assert jobs.count == sum(len(update.dropped) for update in seen) > 0
    # The caller's table is left alone.
    assert (table.seconds == before).all()


@pytest.mark.parametrize("kind", sorted(ACCEPTANCES))
def test_a_policy_that_sees_all_sees_the_run_times_that_were(kind: str) -> None:
    acceptance: Acceptance = ACCEPTANCES[kind]
    if acceptance != SYNCHRONOUS:
        pytest.skip("rows mean nothing to workers there")
    table, policy = drawn("demo8", 6), Listening()
    list(updates(table, policy, sees_all=True, jobs=Twice()))  # type: ignore[arg-type]
    for row, record in enumerate(policy.records):
        assert record.run_times.seconds == pytest.approx(table.seconds[row] * (3.0 if row % 2 else 1.0))


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["demo8", "nodes16", "persistent", "tied"]),
    st.integers(1, 20),
    st.sampled_from([0.0, 0.25]),
)
def test_a_fixed_cutoff_needs_no_state_machine(cluster: str, c: int, overhead: float) -> None:
    if cluster == "tied":
        # Few distinct values: many arrive at the very moment of the close.
        table = Table.dense(np.random.default_rng(c).integers(1, 4, (9, 6)).astype(np.float64))
    else:
        table = drawn(cluster, 9)
    quick = list(fixed_updates(table, c, overhead))
    slow = list(updates(table, backup(c=c), overhead=overhead))
    assert len(quick) == len(slow) == 9
    for one, other in zip(quick, slow, strict=True):
        assert (one.accepted, one.started, one.shares, one.late) == (
            other.accepted,
            other.started,
            other.shares,
            other.late,
        )
        assert set(one.dropped) == set(other.dropped)
        assert (one.opened, one.closed) == (other.opened, other.closed)
        first, second = one.record, other.record
        assert (first.version, first.opened, first.elapsed) == (second.version, second.opened, second.elapsed)
        assert first.overhead == pytest.approx(second.overhead)
        for name in ("arrivals", "accepted", "shares", "fates", "staleness"):
            assert np.array_equal(getattr(first, name), getattr(second, name)), name
        for name in ("workers", "seconds", "observed", "nodes"):
            assert np.array_equal(getattr(first.run_times, name), getattr(second.run_times, name)), name


def test_a_table_with_gaps_needs_the_state_machine() -> None:
    with pytest.raises(ValueError, match="censored or absent"):
        next(fixed_updates(drawn("fail-and-return", 60), 3))
