"""The parts of the trend forecaster, each against what it should be equal to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut.forecast.trend import factors as shared
from tailcut.forecast.trend import own, stay
from tailcut.forecast.trend.cells import BELOW, COUNT, PER_OCTAVE, Cells, blurred, shift_columns
from tailcut.forecast.trend.trend import Trend, factors_after, plain_position
from tailcut.likelihood import kaplan_meier
from tailcut.types import RunTimes


@given(seconds=st.floats(1e-6, 1e6), power=st.integers(-20, 20))
def test_scaling_by_a_power_of_two_moves_the_unit_and_nothing_else(seconds: float, power: int) -> None:
    times = seconds * np.array([0.5, 0.9, 1.0, 1.7, 30.0])
    scale = 2.0**power
    one, other = Cells.around(seconds), Cells.around(seconds * scale)
    assert other.unit == one.unit * scale
    np.testing.assert_array_equal(one.position(times), other.position(times * scale))
    ends = np.arange(COUNT)
    np.testing.assert_array_equal(one.ends(ends) * scale, other.ends(ends))


def test_a_cell_reaches_from_the_end_of_the_one_before_to_its_own() -> None:
    cells = Cells(1.0)
    ends = cells.ends(np.arange(COUNT))
    inside = np.sqrt(ends[1:] * ends[:-1])
    np.testing.assert_array_equal(cells.position(inside).astype(int), np.arange(1, COUNT))
    assert ends[BELOW * PER_OCTAVE - 1] == 1.0


def test_times_outside_the_range_count_in_its_last_cells() -> None:
    position = Cells(1.0).position(np.array([1e-9, 1e9]))
    assert position.astype(int).tolist() == [0, COUNT - 1]


def test_the_unit_moves_only_when_times_have_left_the_middle() -> None:
    cells = Cells(1.0)
    assert [cells.octaves_off(t) for t in (0.3, 1.0, 10.0, 0.1, 100.0)] == [0, 0, 0, -4, 6]
    assert cells.moved(-4).unit == 2.0**-4


@given(by=st.integers(-2 * COUNT, 2 * COUNT))
def test_shifting_columns_keeps_the_mass(by: int) -> None:
    rng = np.random.default_rng(0)
    array = rng.random((3, COUNT))
    moved = shift_columns(array, by)
    np.testing.assert_allclose(moved.sum(axis=1), array.sum(axis=1))
    if 0 <= by < COUNT - 1:
        np.testing.assert_array_equal(moved[:, 1 : COUNT - by], array[:, by + 1 :])


def test_blurring_keeps_the_mass() -> None:
    mass = np.random.default_rng(0).random((2, COUNT))
    np.testing.assert_allclose(blurred(mass).sum(axis=1), mass.sum(axis=1))


def test_without_a_prior_the_own_law_is_kaplan_meier() -> None:
    rng = np.random.default_rng(3)
    cells = Cells(1.0)
    times = np.exp(0.4 * rng.standard_normal(400))
    limit = cells.ends(np.array([BELOW * PER_OCTAVE + 10]))[0]
    observed = times <= limit
    seconds = np.where(observed, times, limit)
    tally = own.Tally.empty(1, COUNT)
    for t, seen in zip(cells.position(seconds), observed, strict=True):
        tally = own.tallied(tally, np.array([t]), np.array([seen]), keep=1.0)
    hazards = tally.events / np.maximum(tally.exposure(), 1e-300)
    survival = np.cumprod(1 - hazards[0])
    events, by_km = kaplan_meier(seconds, observed)
    for cell in range(0, BELOW * PER_OCTAVE + 10, 7):
        end = cells.ends(np.array([cell]))[0]
        exact = by_km[np.searchsorted(events, end, side="right") - 1] if events[0] <= end else 1.0
        assert survival[cell] == pytest.approx(exact, abs=1e-9)


def test_a_cut_within_a_cell_counts_as_exposed_for_that_part() -> None:
    tally = own.tallied(own.Tally.empty(1, COUNT), np.array([10.25]), np.array([False]), keep=1.0)
    assert tally.exposure()[0, 9:12].tolist() == [1.0, 0.25, 0.0]


def test_censored_hazards_are_not_biased_where_the_close_falls_within_a_cell() -> None:
    """Every round cut at the same moment inside a cell: the hazard there must come out as if nothing were cut."""
    rng = np.random.default_rng(4)
    cells = Cells(1.0)
    times = np.exp(0.3 * rng.standard_normal(20_000))
    cell = BELOW * PER_OCTAVE + 6
    inside = cells.unit * 2 ** ((cell + 0.5) / PER_OCTAVE - BELOW)
    observed = times <= inside
    whole = own.pooled(own.Tally.empty(2 * COUNT), cells.position(times), np.ones(len(times), np.bool_), 1.0)
    cut = own.pooled(own.Tally.empty(2 * COUNT), cells.position(np.minimum(times, inside)), observed, 1.0)
    assert own.hazard(cut)[cell] == pytest.approx(own.hazard(whole)[cell], rel=0.1)


def test_a_level_never_lies_beyond_what_was_seen() -> None:
    tally = own.Tally.empty(1, COUNT)
    for _ in range(20):
        tally = own.tallied(tally, np.array([100.5]), np.array([False]), keep=0.99)
    assert own.levels(tally, tally.exposure())[0] == 100


@pytest.mark.parametrize(
    ("cut", "beyond"), [(0, own.MOST_UNKNOWN), (150, 50 / (8 * 200)), (950, own.UNKNOWN_HAZARD)]
)
def test_where_nobody_was_ever_seen_the_hazard_before_goes_on_within_bounds(cut: int, beyond: float) -> None:
    """50 of 50 + cut came in the last cell that anybody reached; the hazard is the mean of the last eight cells."""
    came, left = np.full(50, 100.5), np.full(cut, 101.0)
    tally = own.pooled(
        own.Tally.empty(2 * COUNT), np.concatenate([came, left]), np.arange(50 + cut) < 50, 1.0
    )
    hazards = own.hazard(tally, own.MOST_UNKNOWN)
    assert hazards[100] == pytest.approx(50 / (50 + cut))
    np.testing.assert_allclose(hazards[101:], beyond)
    np.testing.assert_allclose(own.hazard(tally)[101:], own.UNKNOWN_HAZARD)


def test_held_values_are_learnt_as_persistence() -> None:
    weights = np.full(stay.SOURCES, 1 / stay.SOURCES)
    law = np.full((50, COUNT), 1 / COUNT)
    last = np.arange(100, 150)
    for _ in range(60):
        weights = stay.updated_weights(weights, last, law, last, np.zeros(50), np.ones(50, np.bool_), 0.1)
    assert weights[0] > 0.8


def test_fresh_draws_are_learnt_as_the_own_law() -> None:
    rng = np.random.default_rng(0)
    weights = np.full(stay.SOURCES, 1 / stay.SOURCES)
    law = np.zeros((200, COUNT))
    law[:, 100:200] = 0.01
    for _ in range(60):
        last, cell = rng.integers(100, 200, 200), rng.integers(100, 200, 200)
        weights = stay.updated_weights(weights, last, law, cell, np.zeros(200), np.ones(200, np.bool_), 0.1)
    assert weights[-1] > 0.8


def test_the_predictive_is_a_law() -> None:
    law = np.random.default_rng(0).dirichlet(np.ones(COUNT), size=4)
    out = stay.predictive(np.array([0.2, 0.2, 0.1, 0.5]), np.array([5, 380, -1, -2]), law[::-1], law)
    np.testing.assert_allclose(out.sum(axis=1), 1.0)
    np.testing.assert_array_equal(out[3], law[3])


def narrow(n: int, at: int) -> np.ndarray:
    law = np.full((n, COUNT), 1e-6)
    law[:, at - 3 : at + 4] = 1 / 7
    return law / law.sum(axis=1, keepdims=True)


def test_a_common_jump_is_found_even_from_censored_times() -> None:
    groups = np.repeat([0, 1], 10)
    law = narrow(20, 100)
    cell = np.where(groups == 0, 100, 120)
    observed = groups == 0  # the slow node was cut at cell 120, its true place is 135
    factors = shared.followed(shared.Factors.none(), groups, law, cell, observed)
    assert factors.shift_of(np.array([0]))[0] == 0
    assert factors.shift_of(np.array([1]))[0] >= 17
    factors = shared.followed(factors, groups, law, np.where(groups == 0, 100, 135), np.ones(20, np.bool_))
    assert abs(factors.shift_of(np.array([1]))[0] - 35) <= 3
    assert factors.shift_of(np.array([7]))[0] == 0


def test_one_slow_worker_is_no_jump_of_its_group() -> None:
    cell = np.full(10, 100)
    cell[0] = 140
    factors = shared.followed(
        shared.Factors.none(), np.zeros(10, np.int64), narrow(10, 100), cell, np.ones(10, np.bool_)
    )
    assert factors.shift_of(np.array([0]))[0] == 0


def test_places_visited_become_scenarios() -> None:
    factors = shared.Factors.none()
    law, everyone = narrow(10, 100), np.ones(10, np.bool_)
    for t in range(40):
        cell = np.full(10, 100 if t % 10 < 5 else 135)
        factors = shared.followed(factors, np.zeros(10, np.int64), law, cell, everyone)
    shifts, weights = shared.scenarios(factors, np.array([0]))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    # The law is flat over seven cells, so a place is found to within three.
    assert any(abs(s) <= 3 for s in shifts[0])
    assert any(abs(s - 35) <= 3 for s in shifts[0])


def test_nodes_with_too_few_workers_are_one_group() -> None:
    assert shared.grouping(np.array([0, 0, 0, 1, 1, 1])).tolist() == [0, 0, 0, 1, 1, 1]
    assert set(shared.grouping(np.arange(6)).tolist()) == {0}
    assert set(shared.grouping(np.array([0, 0, 0, -1])).tolist()) == {0}


def report(workers: list[int], seconds: list[float], nodes: list[int], late: bool = True) -> RunTimes:
    return RunTimes(
        np.array(workers), np.array(seconds), np.ones(len(workers), np.bool_), np.array(nodes), late=late
    )


def test_a_late_report_counts_for_its_own_node() -> None:
    """One worker alone is too few to tell nodes apart by, but the round before could."""
    trend = Trend()
    nodes = [0, 0, 0, 0, 1, 1, 1, 1]
    belief = trend.start()
    for t in range(30):
        slow = 3.0 if t > 20 else 1.0
        belief = trend.learn(belief, report(list(range(8)), [1.0] * 4 + [slow] * 4, nodes, late=False))
    assert belief is not None
    assert belief.factors.by_node
    one = report([5], [3.0], [1])
    assert belief.factors.groups_of(one).tolist() == [1]
    usual = belief.cells.position(np.array([1.0]))
    assert plain_position(belief, one) == pytest.approx(usual, abs=3.0)
    after = factors_after(belief, np.array([5]), belief.next[[5]], one)
    assert after.shift_of(np.array([0])) == belief.factors.shift_of(np.array([0]))


def test_where_nodes_do_not_tell_late_reports_are_of_the_one_group() -> None:
    assert shared.Factors.none().groups_of(report([5], [3.0], [1])).tolist() == [0]


@given(seed=st.integers(0, 1000))
def test_forgetting_the_unseen_as_fast_as_the_seen_is_forgetting_in_rounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = other = own.Tally.empty(3, COUNT)
    for _ in range(5):
        position, observed = rng.uniform(0.0, COUNT - 1.0, 3), rng.random(3) < 0.6
        one = own.tallied(one, position, observed, 1.0 - 1.0 / 80.0)
        other = own.tallied_paced(other, position, observed, 80.0, 1.0)
    np.testing.assert_allclose(other.events, one.events)
    np.testing.assert_allclose(other.exposure(), one.exposure(), atol=1e-12)


def test_cuts_do_not_wipe_out_what_they_say_nothing_about() -> None:
    seen, cut = np.array([True]), np.array([False])
    tally = own.Tally.empty(1, COUNT)
    for cell in (190.5, 192.5, 191.5):
        tally = own.tallied_paced(tally, np.array([cell]), seen, 80.0, 0.1)
    in_rounds = tally
    for _ in range(300):
        tally = own.tallied_paced(tally, np.array([120.5]), cut, 80.0, 0.1)
        in_rounds = own.tallied(in_rounds, np.array([120.5]), cut, 1.0 - 1.0 / 80.0)
    tally = own.tallied_paced(tally, np.array([196.5]), seen, 80.0, 0.1)
    in_rounds = own.tallied(in_rounds, np.array([196.5]), seen, 1.0 - 1.0 / 80.0)
    assert own.levels(tally, tally.exposure())[0] == 192
    assert own.levels(in_rounds, in_rounds.exposure())[0] == 196
    assert (tally.exposure() >= -1e-12).all()
    assert tally.exposure()[0, 100] == pytest.approx(in_rounds.exposure()[0, 100])


def test_what_a_worker_no_longer_does_is_forgotten_though_its_tail_is_kept() -> None:
    tally = own.Tally.empty(1, COUNT)
    for cell in [190.5] * 50 + [130.5] * 200:
        tally = own.tallied_paced(tally, np.array([cell]), np.array([True]), 80.0, 0.1)
    assert tally.events[0, 130] / tally.exposure()[0, 130] > 0.5
    assert own.levels(tally, tally.exposure())[0] == 130
