"""The simulated engine against order statistics and against rounds worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tailcut.acceptance import ASYNCHRONOUS, BATCH_SYNCHRONOUS, STALE_SYNCHRONOUS, SYNCHRONOUS, Acceptance
from tailcut.clusters.presets import PRESETS
from tailcut.engines.simulated import Run, closing_at, first_arrivals, replay
from tailcut.errors import InputError
from tailcut.events import Arrived, CloseRound, Command, Event, Joined, Left, OpenRound, Settle
from tailcut.forecast import Forecaster, NoForecast
from tailcut.policy import Policy
from tailcut.policy_names import POLICIES
from tailcut.rules import Backup, Deadline, MicroDeadline, Opening, Rule, WaitAll
from tailcut.table import Table
from tailcut.types import (
    Close,
    Decision,
    Fate,
    FloatArray,
    Forecast,
    Progress,
    Roster,
    RoundRecord,
    RunTimes,
    Wait,
)

NAN = np.nan

# Few distinct small whole numbers: ties abound, and sums are exact.
TIED = npst.arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(1, 6)),
    elements=st.integers(1, 4).map(float),
)
HALVES = st.integers(0, 4).map(lambda k: k / 2)


def table(
    *rows: list[float], lost: tuple[tuple[int, int], ...] = (), nodes: list[int] | None = None
) -> Table:
    """A table with those rows; NaN is absent, and of the (round, worker) in `lost` nothing ever came."""
    seconds = np.array(rows)
    observed = ~np.isnan(seconds)
    for place in lost:
        observed[place] = False
    n = seconds.shape[1]
    where = np.full(n, -1) if nodes is None else np.array(nodes)
    return Table(seconds, observed, tuple(range(n)), where)


def fixed(rule: Rule[Any, Any]) -> Policy:
    return Policy(NoForecast(), rule)


@dataclass
class Log:
    """Watches a run."""

    events: list[Event]
    commands: list[Command]

    @staticmethod
    def of(source: Table, policy: Policy, **how: Any) -> tuple[Run, Log]:
        log = Log([], [])

        def watch(event: Event, commands: list[Command]) -> None:
            log.events.append(event)
            log.commands.extend(commands)

        return replay(source, policy, watch=watch, **how), log

    @property
    def records(self) -> list[RoundRecord]:
        return [command.record for command in self.commands if isinstance(command, CloseRound)]

    @property
    def settled(self) -> list[tuple[int, int, Fate, float]]:
        settles = [command for command in self.commands if isinstance(command, Settle)]
        return [(s.worker, s.version, s.fate, s.run_time) for s in settles]


def same(one: Run, other: Run) -> None:
    """Equal to the last bit."""
    for name in ("elapsed", "counts", "values", "accepted", "idle", "present"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.overhead == other.overhead


# Order statistics.


@settings(max_examples=60, deadline=None)
@given(times=TIED, overhead=HALVES)
def test_waiting_for_all_lasts_as_long_as_the_slowest(times: FloatArray, overhead: float) -> None:
    run = replay(Table.dense(times), fixed(WaitAll()), overhead=overhead)
    assert np.array_equal(run.elapsed, times.max(axis=1))
    assert run.accepted.all()
    assert np.array_equal(run.counts, np.full(len(times), times.shape[1]))


def test_waiting_for_all_lasts_as_long_as_the_slowest_with_any_times() -> None:
    times = np.random.default_rng(0).lognormal(0.0, 1.0, (200, 16))
    run = replay(Table.dense(times), fixed(WaitAll()), overhead=0.3)
    # The clock adds up thousands of seconds; a difference of two readings keeps 12 digits.
    np.testing.assert_allclose(run.elapsed, times.max(axis=1), rtol=0.0, atol=1e-11)


@settings(max_examples=60, deadline=None)
@given(times=TIED, overhead=HALVES, data=st.data())
def test_a_cutoff_lasts_as_long_as_its_order_statistic(times: FloatArray, overhead: float, data: Any) -> None:
    cutoff = data.draw(st.integers(1, times.shape[1]))
    run = replay(Table.dense(times), fixed(Backup(c=cutoff)), overhead=overhead)
    assert np.array_equal(run.elapsed, np.sort(times, axis=1)[:, cutoff - 1])
    # All that arrive at the closing instant are in, so there may be more than the cutoff.
    assert np.array_equal(run.accepted, times <= run.elapsed[:, None])
    assert np.array_equal(run.counts, run.accepted.sum(axis=1))
    assert (run.counts >= cutoff).all()


@settings(max_examples=60, deadline=None)
@given(times=TIED, overhead=HALVES)
def test_all_rounds_at_once_equal_the_rounds_one_by_one(times: FloatArray, overhead: float) -> None:
    source = Table.dense(times)
    for cutoff in range(1, times.shape[1] + 1):
        same(
            first_arrivals(source, cutoff, overhead),
            replay(source, fixed(Backup(c=cutoff)), overhead=overhead),
        )


@settings(max_examples=60, deadline=None)
@given(times=TIED, overhead=HALVES, half_seconds=st.integers(1, 9))
def test_a_deadline_takes_all_who_are_in_by_then_or_else_the_first(
    times: FloatArray, overhead: float, half_seconds: int
) -> None:
    limit = half_seconds / 2
    run = replay(Table.dense(times), fixed(Deadline(seconds=limit)), overhead=overhead)
    first, last = times.min(axis=1), times.max(axis=1)
    assert np.array_equal(run.elapsed, np.maximum(np.minimum(limit, last), first))
    assert np.array_equal(run.counts, (times <= run.elapsed[:, None]).sum(axis=1))


def test_closing_at_given_seconds_takes_all_of_that_instant() -> None:
    run = closing_at(table([2.0, 1.0, 2.0, 2.0, 3.0]), np.array([2.0]), overhead=1.0)
    assert run.accepted.tolist() == [[True, True, True, True, False]]
    assert run.counts.tolist() == [4]
    assert run.idle.tolist() == [1.0]
    assert run.throughput() == 4 / 3.0


def test_all_at_once_refuses_a_table_with_holes() -> None:
    with pytest.raises(ValueError, match=r"use replay\(\) instead"):
        first_arrivals(table([1.0, NAN]), 1)


def test_a_run_adds_up() -> None:
    run = replay(table([1.0, 2.0, 4.0], [2.0, 2.0, 8.0]), fixed(Backup(c=2)), overhead=0.5)
    assert run.elapsed.tolist() == [2.0, 2.0]
    assert run.idle.tolist() == [1.0, 0.0]
    assert run.throughput() == 4 / 5.0
    assert run.throughput(skip=1) == 2 / 2.5
    assert run.idle_share() == 1.0 / (5.0 * 3)
    assert run.rounds == 2


def test_rounds_stops_early_and_watch_sees_every_event() -> None:
    run, log = Log.of(table([1.0, 2.0], [1.0, 2.0], [1.0, 2.0]), fixed(WaitAll()), rounds=2)
    assert run.rounds == 2
    assert [type(event).__name__ for event in log.events] == [
        *["Joined", "Joined", "Applied", "Arrived", "Arrived"],
        *["Applied", "Arrived", "Arrived"],
    ]


@final
@dataclass(frozen=True, slots=True)
class Heard(Forecaster[tuple[RunTimes, ...]]):
    """A forecaster whose belief is all reports so far; each forecast appends that belief to `told`."""

    told: list[list[tuple[list[float], list[bool], bool]]]

    def start(self) -> tuple[RunTimes, ...]:
        return ()

    def learn(self, belief: tuple[RunTimes, ...], seen: RunTimes) -> tuple[RunTimes, ...]:
        return (*belief, seen)

    def forecast(self, belief: tuple[RunTimes, ...], roster: Roster) -> Forecast | None:
        self.told.append([(s.seconds.tolist(), s.observed.tolist(), s.late) for s in belief])
        return None


def test_a_policy_sees_what_a_cut_round_shows_unless_it_is_given_all() -> None:
    source = table([1.0, 3.0, 2.0], [1.0, 1.0, 1.0])
    heard = Heard([])
    replay(source, Policy(heard, Backup(c=1)))
    assert heard.told == [[], [([1.0, 1.0, 1.0], [True, False, False], False)]]
    heard = Heard([])
    replay(source, Policy(heard, Backup(c=1)), sees_all=True)
    assert heard.told == [[], [([1.0, 3.0, 2.0], [True, True, True], False)]]


# Late workers finish: worked out by hand.


def test_late_workers_that_finish_start_the_next_round_late() -> None:
    source = table([1.0, 2.0, 5.0], [1.0, 1.0, 9.0], [1.0, 4.0, 0.5])
    run, log = Log.of(source, fixed(Backup(c=2)), late_finish=True)
    # Round 0 opens at 0 and closes at 2; worker 2 is busy until 5.
    # Round 1 opens at 2 and closes at 3 with workers 0 and 1; worker 2 skips its 9 seconds.
    # Round 2 opens at 3; worker 0 is in at 4; worker 2 is done with round 0 at 5, starts and is in at 5.5.
    assert run.elapsed.tolist() == [2.0, 1.0, 2.5]
    assert run.accepted.tolist() == [[True, True, False], [True, True, False], [True, False, True]]
    busy = [record.roster.busy.tolist() for record in log.records]
    np.testing.assert_equal(busy, [[NAN] * 3, [NAN, NAN, 2.0], [NAN, NAN, 3.0]])
    fates = [record.fates.tolist() for record in log.records]
    assert fates == [
        [Fate.USED, Fate.USED, Fate.PENDING],
        [Fate.USED, Fate.USED, Fate.UNSTARTED],
        [Fate.USED, Fate.PENDING, Fate.USED],
    ]
    assert log.settled == [(2, 0, Fate.LATE, 5.0)]


def test_the_overhead_gives_late_workers_time_to_finish() -> None:
    source = table([1.0, 2.0, 5.0], [1.0, 1.0, 9.0], [1.0, 4.0, 0.5])
    run, log = Log.of(source, fixed(Backup(c=2)), late_finish=True, overhead=1.0)
    # Rounds open at 0, 3 and 5, at which very moment worker 2 is done: it is free.
    assert run.elapsed.tolist() == [2.0, 1.0, 1.0]
    busy = [record.roster.busy.tolist() for record in log.records]
    np.testing.assert_equal(busy, [[NAN] * 3, [NAN, NAN, 3.0], [NAN] * 3])
    assert run.accepted[2].tolist() == [True, False, True]
    assert log.settled == [(2, 0, Fate.LATE, 5.0)]


def test_late_workers_that_abandon_carry_nothing_over() -> None:
    source = table([1.0, 2.0, 5.0], [1.0, 1.0, 9.0], [1.0, 4.0, 0.5])
    run, log = Log.of(source, fixed(Backup(c=2)))
    assert run.elapsed.tolist() == [2.0, 1.0, 1.0]
    assert all(np.isnan(record.roster.busy).all() for record in log.records)
    assert log.settled == []


def test_a_round_of_which_everybody_is_still_busy_opens_all_the_same() -> None:
    source = table([1.0, 4.0, 4.0], [9.0, 1.0, 2.0], [1.0, 1.0, 1.0])
    run, log = Log.of(source, fixed(Backup(c=1)), late_finish=True)
    # Round 1 opens at 1 and closes at 5 with worker 1, busy until 4; worker 2 began at 4 and is done at 6.
    # Round 2 opens at 5: worker 1 is in at 6, before worker 0, busy until 10, and 2, which starts at 6.
    assert run.elapsed.tolist() == [1.0, 4.0, 1.0]
    assert [np.flatnonzero(row).tolist() for row in run.accepted] == [[0], [1], [1]]
    np.testing.assert_equal(log.records[2].roster.busy.tolist(), [4.0, NAN, 1.0])


def test_waiting_for_all_is_the_same_whether_late_workers_finish_or_not() -> None:
    source = Table.dense(np.random.default_rng(3).lognormal(0.0, 1.0, (40, 5)))
    policy = fixed(WaitAll())
    same(replay(source, policy, late_finish=True), replay(source, policy))


# Workers that are absent, or of which nothing came.


def test_workers_join_and_leave_as_the_table_says() -> None:
    source = table([1.0, 2.0, NAN], [1.0, NAN, 3.0], [NAN, 2.0, 1.0], nodes=[4, 5, 6])
    run, log = Log.of(source, fixed(WaitAll()))
    assert [record.roster.workers.tolist() for record in log.records] == [[0, 1], [0, 2], [1, 2]]
    assert [record.roster.nodes.tolist() for record in log.records] == [[4, 5], [4, 6], [5, 6]]
    assert run.elapsed.tolist() == [2.0, 3.0, 2.0]
    assert run.present.tolist() == [2, 2, 2]
    assert [(e.now, e.worker) for e in log.events if isinstance(e, Left)] == [(2.0, 1), (5.0, 0)]
    assert [(e.now, e.worker) for e in log.events if isinstance(e, Joined)] == [
        (0, 0),
        (0, 1),
        (2, 2),
        (5, 1),
    ]


def test_a_worker_of_which_nothing_came_is_gone_after_its_seconds_and_back_in_the_next_round() -> None:
    source = table([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], lost=((0, 2),))
    run, log = Log.of(source, fixed(WaitAll()))
    assert run.elapsed.tolist() == [3.0, 1.0]
    assert run.counts.tolist() == [2, 3]
    assert log.records[0].fates.tolist() == [Fate.USED, Fate.USED, Fate.LOST]
    assert log.records[0].run_times.seconds.tolist() == [1.0, 2.0, 3.0]
    assert log.records[0].run_times.observed.tolist() == [True, True, False]


def test_a_worker_that_abandons_doomed_work_does_not_leave_a_later_round() -> None:
    source = table([1.0, 1.0, 3.0], [9.0, 9.5, 4.0], lost=((0, 2),))
    run, log = Log.of(source, fixed(Backup(c=2)))
    # Round 1 is open from 1 to 10. Worker 2 would have been gone at 3, but was told to stop at 1.
    assert run.accepted.tolist() == [[True, True, False], [True, False, True]]
    assert run.elapsed.tolist() == [1.0, 9.0]
    assert not any(isinstance(event, Left) for event in log.events)
    # Nor does it leave in between, where the next round opens only at 6.
    _, log = Log.of(source, fixed(Backup(c=2)), overhead=5.0)
    assert not any(isinstance(event, Left) for event in log.events)


def test_a_worker_that_finishes_doomed_work_leaves_the_round_it_should_have_come_to() -> None:
    source = table([1.0, 1.0, 3.0], [4.0, 4.0, 1.0], [2.0, 2.5, 1.0], lost=((0, 2),))
    run, log = Log.of(source, fixed(Backup(c=2)), late_finish=True)
    assert run.accepted.tolist() == [[True, True, False], [True, True, False], [True, False, True]]
    assert run.elapsed.tolist() == [1.0, 4.0, 2.0]
    assert log.settled == [(2, 0, Fate.LOST, 3.0)]


def test_a_worker_that_is_absent_for_a_round_comes_back_free() -> None:
    source = table([1.0, 9.0], [1.0, NAN], [3.0, 1.0])
    run, log = Log.of(source, fixed(Backup(c=1)), late_finish=True)
    assert log.settled == [(1, 0, Fate.LOST, 1.0)]
    assert run.accepted.tolist() == [[True, False], [True, False], [False, True]]
    assert run.elapsed.tolist() == [1.0, 1.0, 1.0]


def test_doomed_work_of_a_worker_that_left_and_came_back_is_forgotten() -> None:
    source = table([1.0, 5.0], [1.0, NAN], [9.0, 6.0], lost=((0, 1),))
    run, log = Log.of(source, fixed(Backup(c=1)), late_finish=True)
    # Worker 1 leaves with its round 0 at 1 and is back at 2; at 5 nothing happens.
    assert run.accepted[2].tolist() == [False, True]
    assert [(e.now, e.worker) for e in log.events if isinstance(e, Left)] == [(1.0, 1)]


def test_a_doomed_worker_and_a_last_arrival_at_one_instant_close_the_round_there() -> None:
    run = replay(table([2.0, 2.0], [1.0, 1.0], lost=((0, 1),)), fixed(WaitAll()))
    assert run.elapsed.tolist() == [2.0, 1.0]
    assert run.counts.tolist() == [1, 2]


@pytest.mark.parametrize(
    "source",
    [table([1.0, 2.0], [NAN, NAN]), table([1.0, 2.0], [1.0, 2.0], lost=((1, 0), (1, 1)))],
    ids=["nobody there", "nothing came"],
)
def test_a_round_that_nobody_can_end_is_refused_with_a_sentence(source: Table) -> None:
    with pytest.raises(InputError, match=r"In round 1 of table nobody is left .* Leave that round out\."):
        replay(source, fixed(WaitAll()))


@pytest.mark.parametrize("late_finish", [False, True])
@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_runs_where_workers_fail_and_return(name: str, late_finish: bool) -> None:
    cluster = PRESETS["fail-and-return"].factory(n=8, p_fail=0.05, p_return=0.2, overhead=0.05)
    source = cluster.sample(80, np.random.default_rng(1)).table
    assert not source.whole
    named = POLICIES[name]
    policy = named.make()
    run, log = Log.of(
        source,
        policy,
        late_finish=late_finish,
        overhead=0.05,
        acceptance=named.acceptance,
        micro=policy.micro,
        sees_all=policy.sees_all,
    )
    assert 20 < run.rounds <= 80
    assert (run.counts >= 1).all()
    assert np.isfinite(run.throughput())
    if named.acceptance == SYNCHRONOUS:
        assert run.rounds == 80
        present = ~np.isnan(source.seconds)
        assert np.array_equal(run.present, present.sum(axis=1))
        assert not (run.accepted & ~source.observed).any(), "what never came is never accepted"
        assert np.array_equal(run.accepted.sum(axis=1), run.counts)
    assert any(isinstance(event, Left) for event in log.events)
    clock = log.records[-1].opened + log.records[-1].elapsed
    assert run.elapsed.sum() + 0.05 * (run.rounds - 1) == pytest.approx(clock, rel=1e-9), "no second is lost"


@final
@dataclass(frozen=True, slots=True)
class FirstComeAndNobodyLate(Rule[None, None]):
    """A rule that takes one gradient; a worker that becomes free in mid-round waits for the next one."""

    def start(self) -> None:
        pass

    def plan(self, memory: None, opening: Opening) -> None:
        pass

    def decide(self, plan: None, progress: Progress) -> Decision:
        return Close() if progress.count else Wait(count=1)

    def worth_starting(self, plan: None, position: int, elapsed: float) -> bool:
        return False


def test_seconds_of_a_round_that_had_to_be_tried_again_are_counted() -> None:
    source = table([1.0, 3.0, 4.0], [0.5, 2.0, 2.5], lost=((1, 0),))
    run, log = Log.of(source, fixed(FirstComeAndNobodyLate()), late_finish=True)
    # Round 1 opens at 1. Worker 0 is gone at 1.5; worker 1 is free at 3, worker 2 at 4, and both sit out. With
    # nobody left the round is tried again at 4, by those two, and closes at 6.
    assert log.events[-1].now == 6.0
    assert run.elapsed.tolist() == [1.0, 5.0]
    assert run.accepted.tolist() == [[True, False, False], [False, True, False]]


# Acceptance modes in which a worker takes its next row for each piece of work.


@pytest.mark.parametrize("acceptance", [BATCH_SYNCHRONOUS, STALE_SYNCHRONOUS, ASYNCHRONOUS])
def test_each_piece_of_work_takes_the_next_row_the_worker_is_present_in(acceptance: Acceptance) -> None:
    source = table([1.0, 1.5], [NAN, 1.5], [2.0, 1.5], [2.0, 1.5], [2.0, 1.5], [2.0, 1.5])
    _, log = Log.of(source, fixed(Backup(c=2)), acceptance=acceptance)
    came = [event for event in log.events if isinstance(event, Arrived) and event.worker == 0]
    assert [event.run_time for event in came] == [1.0, *[2.0] * (len(came) - 1)]
    assert len(came) >= 2


def test_a_run_ends_when_a_worker_has_gone_through_the_table() -> None:
    source = table(*[[1.0, 10.0]] * 6)
    run = replay(source, fixed(Backup(c=2)), acceptance=BATCH_SYNCHRONOUS)
    # Worker 0 alone makes a round every 2 s; its six pieces of work are three rounds.
    assert run.elapsed.tolist() == [2.0, 2.0, 2.0]
    assert run.counts.tolist() == [2, 2, 2]


def test_a_worker_whose_rows_end_early_leaves_and_the_others_go_on() -> None:
    source = table([1.0, 1.5], [1.0, 1.5], *[[NAN, 1.5]] * 6)
    run, log = Log.of(source, fixed(Backup(c=1)), acceptance=ASYNCHRONOUS)
    assert run.rounds == 8
    assert run.accepted[:, 0].sum() == 2
    assert [(e.now, e.worker) for e in log.events if isinstance(e, Left)] == [(2.0, 0)]
    assert run.present[-1] == 1


def test_who_goes_on_at_once_is_never_idle() -> None:
    source = Table.dense(np.random.default_rng(0).lognormal(0.0, 0.5, (50, 4)))
    for acceptance in (BATCH_SYNCHRONOUS, ASYNCHRONOUS):
        assert replay(source, fixed(Backup(c=2)), acceptance=acceptance).idle_share() == 0.0
    assert replay(source, fixed(Backup(c=2)), acceptance=STALE_SYNCHRONOUS).idle_share() > 0.0


def test_bounded_staleness_of_nobody_late_is_synchronous() -> None:
    source = Table.dense(np.random.default_rng(0).lognormal(0.0, 0.5, (50, 4)))
    same(replay(source, fixed(WaitAll()), acceptance=STALE_SYNCHRONOUS), replay(source, fixed(WaitAll())))


# Micro-batches.


def test_a_worker_stopped_by_its_deadline_delivers_the_micro_batches_it_has_finished() -> None:
    source = table([1.0, 4.0, 2.0, 16.0, 2.5])
    policy = fixed(MicroDeadline(micro=4, threshold=2.0))
    run, log = Log.of(source, policy, micro=4, overhead=0.5)
    assert run.elapsed.tolist() == [2.0]
    assert run.counts.tolist() == [5]
    assert log.records[0].shares.tolist() == [1.0, 0.5, 1.0, 0.0, 0.75]
    assert run.values.tolist() == [3.25]
    assert run.throughput() == 3.25 / 2.5
    seen = log.records[0].run_times
    assert seen.seconds.tolist() == [1.0, 2.0, 2.0, 2.0, 2.0]
    assert seen.observed.tolist() == [True, False, True, False, False]


@pytest.mark.parametrize(("micro", "done"), [(8, 3), (8, 6), (8, 7), (5, 3), (3, 1)])
def test_a_micro_batch_that_ends_at_the_very_deadline_is_in(micro: int, done: int) -> None:
    seconds = np.random.default_rng(micro).uniform(0.1, 10.0, 40)
    off = np.floor(micro * (seconds * done / micro) / seconds) != done
    for each in seconds.tolist():
        policy = fixed(MicroDeadline(micro=micro, threshold=each * done / micro))
        run = replay(Table.dense(np.array([[each]])), policy, micro=micro)
        assert run.values.tolist() == [done / micro]
    assert off.any() or micro != 8, "rounding must matter for some"


def test_every_round_has_the_workers_deadline_and_nobody_is_late_with_it() -> None:
    source = table([1.0, 1.0, 4.0], [1.0, 1.0, 4.0], [1.0, 1.0, 4.0])
    policy = fixed(MicroDeadline(micro=4, threshold=2.0))
    _, log = Log.of(source, policy, micro=4, late_finish=True)
    assert [c.deadline for c in log.commands if isinstance(c, OpenRound)] == [2.0] * 3
    assert [record.shares.tolist() for record in log.records] == [[1.0, 1.0, 0.5]] * 3
