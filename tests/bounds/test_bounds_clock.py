"""Bounds where states move by the clock, against trying everything and against the engine."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from bounds_tables import OVERHEADS
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.bounds import best_deadline, best_static, clairvoyant, first_in_turn
from tailcut.bounds.fixed import side_by_side
from tailcut.engines.simulated import Run, replay
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.rules import Backup, Deadline, WaitAll
from tailcut.timeline import Timeline

MOMENTS = np.arange(0.5, 14.0, 0.5)


@st.composite
def timelines(draw: st.DrawFn, workers: int = 4, rounds: int = 5) -> Timeline:
    """Whole seconds, states 1, 2 and 4 and absences, so that sums are exact and ties abound; worker 0 never leaves."""
    n, t, slots = draw(st.integers(1, workers)), draw(st.integers(1, rounds)), draw(st.integers(1, 8))
    noise = np.array(draw(st.lists(st.integers(1, 6), min_size=n * t, max_size=n * t)), float).reshape(t, n)
    states = st.sampled_from([1.0, 1.0, 2.0, 4.0, np.nan])
    scale = np.array(draw(st.lists(states, min_size=n * slots, max_size=n * slots))).reshape(slots, n)
    scale[:, 0] = np.where(np.isnan(scale[:, 0]), 1.0, scale[:, 0])
    return Timeline(noise, scale, draw(st.sampled_from([1.0, 4.0])), np.full(n, -1), "drawn")


def cut_at_count(times: Timeline, count: int, overhead: float, late_finish: bool) -> Run:
    return replay(times, Policy(NoForecast(), Backup(c=count)), late_finish=late_finish, overhead=overhead)


def cut_at_time(times: Timeline, seconds: float, overhead: float, late_finish: bool) -> Run:
    policy = Policy(NoForecast(), Deadline(seconds=seconds))
    return replay(times, policy, late_finish=late_finish, overhead=overhead)


def same(one: Run, other: Run) -> None:
    for name in ("elapsed", "counts", "accepted", "idle", "present", "values", "opened"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@settings(max_examples=150, deadline=None)
@given(times=timelines(), overhead=OVERHEADS, late_finish=st.booleans(), data=st.data())
def test_the_best_static_cutoff_is_the_best_of_all_cutoffs(
    times: Timeline, overhead: float, late_finish: bool, data: st.DataObject
) -> None:
    skip = data.draw(st.integers(0, times.rounds - 1))
    best = best_static(times, overhead, late_finish, skip)
    runs = [cut_at_count(times, c, overhead, late_finish) for c in range(1, times.workers + 1)]
    assert best.run.throughput(skip) == pytest.approx(max(run.throughput(skip) for run in runs), rel=1e-12)
    same(best.run, runs[int(best.setting) - 1])


@settings(max_examples=150, deadline=None)
@given(times=timelines(), overhead=OVERHEADS, late_finish=st.booleans())
def test_settings_side_by_side_are_played_as_the_engine_plays_them(
    times: Timeline, overhead: float, late_finish: bool
) -> None:
    found = side_by_side(times, overhead, late_finish, deadlines=MOMENTS)
    for place, seconds in enumerate(MOMENTS):
        run = cut_at_time(times, float(seconds), overhead, late_finish)
        assert found.counts[:, place].tolist() == run.counts.tolist()
        assert found.costs[:, place] == pytest.approx(run.elapsed + overhead, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(times=timelines(), overhead=OVERHEADS, late_finish=st.booleans())
def test_no_run_time_that_waiting_for_all_meets_is_a_better_deadline(
    times: Timeline, overhead: float, late_finish: bool
) -> None:
    best = best_deadline(times, overhead, late_finish)
    engine = cut_at_time(times, best.setting, overhead, late_finish)
    assert best.run.throughput() == pytest.approx(engine.throughput(), rel=1e-12)
    met = times.met(first_in_turn(times, times.workers, overhead).opened)
    for seconds in np.unique(met.seconds[met.observed]):
        rate = cut_at_time(times, float(seconds), overhead, late_finish).throughput()
        assert rate <= best.run.throughput() * (1 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(times=timelines(), overhead=OVERHEADS)
def test_waiting_for_all_is_played_as_the_engine_plays_it(times: Timeline, overhead: float) -> None:
    engine = replay(times, Policy(NoForecast(), WaitAll()), overhead=overhead)
    same(first_in_turn(times, times.workers, overhead), engine)


@settings(max_examples=60, deadline=None)
@given(times=timelines(workers=3, rounds=4), overhead=OVERHEADS)
def test_the_clairvoyant_takes_the_best_count_at_the_best_price_of_the_rounds_it_met(
    times: Timeline, overhead: float
) -> None:
    run = clairvoyant(times, overhead, window=2).run
    now, costs = 0.0, []
    for t in range(times.rounds):
        assert run.opened[t] == now
        seconds, ends = times.at(t, now)
        arrivals = np.sort(seconds[ends])
        costs.append(arrivals + overhead)
        recent = costs[-2:]
        price = max(
            sum(pick + 1 for pick in picks) / sum(one[pick] for one, pick in zip(recent, picks, strict=True))
            for picks in itertools.product(*(range(len(one)) for one in recent))
        )
        worth = np.arange(1, len(arrivals) + 1) - price * costs[-1]
        best = arrivals[worth >= worth.max() - 1e-9]
        assert float(run.elapsed[t]) in best.tolist()
        assert run.counts[t] == (arrivals <= run.elapsed[t]).sum()
        now += float(run.elapsed[t]) + overhead
