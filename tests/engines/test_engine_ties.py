"""Arrivals of one instant in the simulated engine: replay against a brute force that steps through time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bounds.bounds_tables import tables

from tailcut.acceptance import ASYNCHRONOUS, BATCH_SYNCHRONOUS, STALE_SYNCHRONOUS
from tailcut.engines.simulated import replay
from tailcut.engines.simulated.fixed import fixed_updates
from tailcut.events import Arrivals, CloseRound, Command, Event, arrivals_of
from tailcut.forecast import NoForecast
from tailcut.policies import backup, deadline, stopping
from tailcut.policy import Policy
from tailcut.rules import Deadline, Floor
from tailcut.table import Table

STEP = 0.5
"""All run times, overheads and deadlines of these tests are multiples of it."""
Closes = Callable[[float, int, int], bool]
"""A test whether a round closes: seconds since its opening, arrivals, arrivals that can still come."""


def brute_force(
    table: Table, closes: Closes, ticks: float, late_finish: bool, overhead: float
) -> list[tuple[float, list[int]]]:
    """Seconds and accepted workers of each round; within an instant: arrivals, departures, wake-up, opening."""
    work: dict[int, tuple[int, float, bool]] = {}
    members: set[int] = set()
    came: set[int] = set()
    gone: set[int] = set()
    roster: set[int] = set()
    closed: list[tuple[float, list[int]]] = []
    version, is_open, opened, opening, now = -1, False, 0.0, 0.0, 0.0

    def begin(worker: int) -> None:
        ends = now + float(table.seconds[version, worker])
        work[worker] = (version, ends, not table.observed[version, worker])

    def close_if(is_due: bool) -> None:
        nonlocal is_open, opening
        if not (is_open and is_due and came):
            return
        is_open, opening = False, now + overhead
        closed.append((now - opened, sorted(came)))
        for worker, (of, _, _) in list(work.items()):
            if of == version and not late_finish:
                del work[worker]

    def is_due(is_tick: bool = False) -> bool:
        elapsed, out = now - opened, len(roster - came - gone)
        # An arrival at the very moment of the wake-up leaves the decision to it.
        return out == 0 or ((is_tick or elapsed != ticks) and closes(elapsed, len(came), out))

    while len(closed) < table.rounds:
        ended = [worker for worker, (_, ends, _) in sorted(work.items()) if ends == now]
        arrived = [worker for worker in ended if not work[worker][2]]
        of = {worker: work.pop(worker)[0] for worker in arrived}
        if is_open and arrived:
            came |= {worker for worker in arrived if of[worker] == version}
            close_if(is_due())
        if is_open:
            for worker in set(arrived) & roster - came:
                begin(worker)
        for worker in ended:
            # A worker that was told to stop a moment ago does not leave.
            if worker in work and worker not in arrived and work[worker][1] == now:
                del work[worker]
                members.discard(worker)
                gone.add(worker)
                close_if(is_due())
        if now - opened == ticks:
            close_if(is_due(is_tick=True))
        if not is_open and now == opening and len(closed) < table.rounds:
            version, is_open, opened = version + 1, True, now
            present = set(np.flatnonzero(~np.isnan(table.seconds[version])).tolist())
            work = {worker: doing for worker, doing in work.items() if worker in present & members}
            members = roster = present
            members, came, gone = set(present), set(), set()
            for worker in sorted(present - set(work)):
                begin(worker)
        now += STEP
    return closed


def replayed(table: Table, policy: Policy, **how: object) -> list[tuple[float, list[int]]]:
    run = replay(table, policy, **how)  # type: ignore[arg-type]
    assert run.counts.tolist() == run.accepted.sum(axis=1).tolist()
    accepted = [np.flatnonzero(row).tolist() for row in run.accepted]
    return list(zip(run.elapsed.tolist(), accepted, strict=True))


TIED = tables(workers=6, rounds=6, most=4)
OVERHEADS = st.sampled_from([0.0, 0.5, 2.0])


@settings(max_examples=150, deadline=None)
@given(table=TIED, cutoff=st.integers(1, 6), late_finish=st.booleans(), overhead=OVERHEADS)
def test_a_cutoff_is_that_of_the_brute_force(
    table: Table, cutoff: int, late_finish: bool, overhead: float
) -> None:
    def closes(elapsed: float, came: int, out: int) -> bool:
        return came >= min(cutoff, came + out)

    expected = brute_force(table, closes, np.inf, late_finish, overhead)
    how = {"late_finish": late_finish, "overhead": overhead}
    assert replayed(table, backup(c=cutoff), **how) == expected


@settings(max_examples=150, deadline=None)
@given(table=TIED, limit=st.integers(1, 12), late_finish=st.booleans(), overhead=OVERHEADS)
def test_a_deadline_is_that_of_the_brute_force(
    table: Table, limit: int, late_finish: bool, overhead: float
) -> None:
    def closes(elapsed: float, came: int, out: int) -> bool:
        return elapsed >= limit * STEP

    expected = brute_force(table, closes, limit * STEP, late_finish, overhead)
    how = {"late_finish": late_finish, "overhead": overhead}
    assert replayed(table, deadline(seconds=limit * STEP), **how) == expected


@settings(max_examples=100, deadline=None)
@given(table=TIED, least=st.integers(1, 6), limit=st.integers(1, 8), late_finish=st.booleans())
def test_a_floor_is_that_of_the_brute_force(table: Table, least: int, limit: int, late_finish: bool) -> None:
    seconds = limit * STEP

    def closes(elapsed: float, came: int, out: int) -> bool:
        return elapsed >= seconds and came >= min(least, came + out)

    expected = brute_force(table, closes, seconds, late_finish, 0.5)
    policy = Policy(NoForecast(), Floor(Deadline(seconds=seconds), least))
    assert replayed(table, policy, late_finish=late_finish, overhead=0.5) == expected


@settings(max_examples=60, deadline=None)
@given(table=tables(workers=6, rounds=6, most=3, whole=True), cutoff=st.integers(1, 6), overhead=OVERHEADS)
def test_sorted_rounds_are_the_brute_force(table: Table, cutoff: int, overhead: float) -> None:
    expected = brute_force(
        table, lambda _, came, out: came >= min(cutoff, came + out), np.inf, False, overhead
    )
    quick = fixed_updates(table, cutoff, overhead)
    assert [(u.record.elapsed, sorted(w.worker for w in u.accepted)) for u in quick] == expected


@pytest.mark.parametrize("late_finish", [False, True])
def test_no_rule_closes_on_part_of_an_instant(late_finish: bool) -> None:
    rng = np.random.default_rng(0)
    table = Table.dense(rng.choice([1.0, 1.0, 1.0, 5.0], (80, 7)))
    tied, closed = 0, {}

    def watch(event: Event, commands: list[Command]) -> None:
        nonlocal tied
        tied += isinstance(event, Arrivals)
        assert all((event.now, arrival.version) not in closed for arrival in arrivals_of(event))
        closed.update({(event.now, c.version): True for c in commands if isinstance(c, CloseRound)})

    run = replay(table, stopping(), late_finish=late_finish, overhead=0.5, watch=watch)
    assert run.rounds == 80
    assert tied > 80


def test_where_workers_go_on_at_once_and_old_gradients_count_the_first_of_an_instant_closes_alone() -> None:
    table = Table.dense(np.ones((6, 4)))
    run = replay(table, backup(c=1), acceptance=ASYNCHRONOUS)
    # The others missed the close: they are in the next round from its start.
    assert run.counts[:2].tolist() == [1, 3]
    assert run.elapsed[:2].tolist() == [1.0, 0.0]


def test_where_old_gradients_count_a_round_of_workers_takes_all_of_an_instant() -> None:
    run = replay(Table.dense(np.ones((6, 4))), backup(c=1), acceptance=STALE_SYNCHRONOUS)
    assert run.counts.tolist() == [4] * 6
    assert not run.staleness.any()


def test_where_workers_come_again_but_old_gradients_are_worthless_all_of_an_instant_are_taken() -> None:
    table = Table.dense(np.tile([1.0, 2.0, 2.0, 2.0], (6, 1)))
    run = replay(table, backup(c=3), acceptance=BATCH_SYNCHRONOUS)
    # Worker 0 arrives at 1 and, with the three others, at 2.
    assert run.elapsed.tolist() == [2.0, 2.0, 2.0]
    assert run.counts.tolist() == [5, 5, 5]
