"""The deep part: what it reads, and what its answers do to a law."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tailcut.forecast.bayes.bayes import Bayes
from tailcut.forecast.bayes.belief import BayesBelief
from tailcut.forecast.bayes.context import COLUMNS, FEATURES, Context, features, logit, reached_by
from tailcut.forecast.bayes.deep import EDGES, HAZARDS, MOST, Deep, plain_log_odds, with_hazards
from tailcut.forecast.bayes.levels import Rates
from tailcut.forecast.trend.cells import COUNT
from tailcut.testing.histories import run_times
from tailcut.types import NO_NODE, FloatArray, RunTimes


def laws(n: int = 3) -> FloatArray:
    """The first is flat over 200 cells, so that bins end where cells do."""
    flat = np.zeros((1, COUNT))
    flat[0, 10:210] = 0.005
    return np.concatenate([flat, np.random.default_rng(0).dirichlet(np.ones(COUNT), size=n - 1)])


def network(last: float, seed: int = 0) -> Deep:
    """Two hidden layers at random, the last one scaled by `last`."""
    rng = np.random.default_rng(seed)
    sizes = (FEATURES, 8, 8, HAZARDS)
    weights = [rng.standard_normal(shape) / 3.0 for shape in pairwise(sizes)]
    biases = [rng.standard_normal(size) for size in sizes[1:]]
    return Deep((*weights[:-1], weights[-1] * last), (*biases[:-1], biases[-1] * last))


def test_no_correction_is_the_identity() -> None:
    np.testing.assert_allclose(with_hazards(laws(), np.zeros((3, HAZARDS))), laws(), atol=1e-12)


def test_a_network_of_zeros_is_the_identity() -> None:
    read = np.random.default_rng(1).standard_normal((3, FEATURES))
    np.testing.assert_allclose(network(0.0).corrected(read, laws()), laws(), atol=1e-12)


def test_a_forecast_that_is_right_has_the_plain_log_odds() -> None:
    passed = np.cumprod(1.0 / (1.0 + np.exp(plain_log_odds())))
    np.testing.assert_allclose(passed, 1.0 - EDGES[1:-1])


def binned(law: FloatArray) -> FloatArray:
    """Chance of every bin of u, where u is measured by the flat law."""
    ends = np.rint(EDGES * 200).astype(int) + 10
    reached = np.concatenate([[0.0], np.cumsum(law)])
    return np.diff(reached[ends])


@pytest.mark.parametrize("by", [-2.0, 0.7, 3.0])
@pytest.mark.parametrize("chosen", range(HAZARDS))
def test_a_correction_changes_the_hazard_of_its_bin_and_no_other(chosen: int, by: float) -> None:
    corrections = np.zeros((1, HAZARDS))
    corrections[0, chosen] = by
    bins = binned(with_hazards(laws()[:1], corrections)[0])
    hazards = bins[:-1] / (1.0 - np.concatenate([[0.0], np.cumsum(bins)[:-2]]))
    expected = plain_log_odds()
    expected[chosen] += by
    np.testing.assert_allclose(hazards, 1.0 / (1.0 + np.exp(-expected)), rtol=1e-9)


def test_within_a_bin_the_shape_stays() -> None:
    corrections = np.full((1, HAZARDS), 0.8)
    law = with_hazards(laws()[:1], corrections)[0]
    for low, high in zip(
        *(np.rint(ends * 200).astype(int) + 10 for ends in (EDGES[:-1], EDGES[1:])), strict=True
    ):
        np.testing.assert_allclose(law[low:high], law[low])


@pytest.mark.parametrize("by", [-MOST, -1.0, 1.0, MOST])
def test_laws_stay_laws(by: float) -> None:
    corrections = by * np.random.default_rng(2).choice([-1.0, 1.0], (40, HAZARDS))
    point = np.zeros((40, COUNT))
    point[np.arange(40), np.arange(40) * 9] = 1.0
    for law in (point, laws(40)):
        out = with_hazards(law, corrections)
        assert (out >= 0.0).all()
        np.testing.assert_allclose(out.sum(axis=1), 1.0)
        assert (out[law == 0.0] < 1e-12).all()


def test_corrections_are_bounded_whatever_is_read() -> None:
    read = 1e6 * np.random.default_rng(3).standard_normal((5, FEATURES))
    assert np.abs(network(1e3).corrections(read)).max() <= MOST


def test_how_much_of_a_law_is_reached() -> None:
    law = np.zeros((3, COUNT))
    law[:, 100] = 0.5
    law[:, 200] = 0.5
    np.testing.assert_allclose(reached_by(law, np.array([100.5, 150.0, 0.0])), [0.25, 0.5, 0.0])
    assert np.abs(logit(np.array([0.0, 1.0]))).max() < 7.0
    assert logit(np.array([0.5]))[0] == 0.0


def round_of(seconds: list[float], observed: list[bool], nodes: list[int], late: bool = False) -> RunTimes:
    return RunTimes(np.arange(len(seconds)), np.array(seconds), np.array(observed), np.array(nodes), late)


def test_the_context_after_two_rounds_by_hand() -> None:
    law = np.zeros((3, COUNT))
    law[:, 100:104] = 0.25
    rows = np.arange(3)
    seen = round_of([1.0, 1.0, 1.0], [True, True, False], [0, 1, 1])
    position = np.array([101.0, 102.0, 102.0])
    first = Context.of(3).after(rows, law, position, seen)
    surprises = np.log([1 / 3, 1.0, 3.0])  # u = ¼, ½, and the middle of what is left after ½
    named = dict(zip(COLUMNS, first.rows.T, strict=True))
    np.testing.assert_allclose(named["last surprise"], surprises)
    np.testing.assert_allclose(named["running mean of surprises"], surprises)
    np.testing.assert_allclose(named["running mean of their squares"], surprises**2)
    np.testing.assert_allclose(named["cuts in a row"], [0.0, 0.0, 1.0])
    node = (surprises[1] + surprises[2]) / 2
    np.testing.assert_allclose(
        named["mean surprise of the node in the last round"], [surprises[0], node, node]
    )
    np.testing.assert_allclose(named["mean surprise of the cluster in the last round"], surprises.mean())
    np.testing.assert_allclose(named["share of the cluster cut in the last round"], 1 / 3)
    np.testing.assert_allclose(named["chance given to be in by the last close"], 0.5)
    late = first.after(rows[2:], law[:1], np.array([103.0]), round_of([1.0], [True], [1], late=True))
    assert late.rows[2, 1] == 0.0
    np.testing.assert_allclose(late.rows[2, 2], np.log(3.0))
    np.testing.assert_array_equal(late.rows[:2], first.rows[:2])
    np.testing.assert_array_equal(late.rows[:, 5:], first.rows[:, 5:])
    assert first.rows[2, 1] == 1.0


def test_the_context_grows_with_workers() -> None:
    context = Context(np.arange(2.0 * len(COLUMNS)).reshape(2, -1))
    grown = context.grown(np.array([False, True, True, False]), np.array([0, 1]))
    np.testing.assert_array_equal(grown.rows[1:3], context.rows)
    assert not grown.rows[[0, 3]].any()


def learnt(scale: float) -> BayesBelief:
    forecaster, rng = Bayes(deep=network(0.5)), np.random.default_rng(8)
    belief = forecaster.start()
    for _ in range(15):
        seen = run_times(np.arange(9, dtype=np.int64), rng, cut=0.3, nodes=3)
        belief = forecaster.learn(
            belief, RunTimes(seen.workers, seen.seconds * scale, seen.observed, seen.nodes)
        )
    assert belief is not None
    return belief


@pytest.mark.parametrize("power", [-9, 21])
def test_what_is_read_has_no_unit(power: int) -> None:
    one, other = learnt(1.0), learnt(2.0**power)
    assert other.base.cells.unit == one.base.cells.unit * 2.0**power
    np.testing.assert_array_equal(one.context.rows, other.context.rows)
    read, again = (
        features(belief.context, belief.rates, np.arange(9), belief.plain, belief.everybody, belief.crowd)
        for belief in (one, other)
    )
    assert read.shape == (9, FEATURES)
    np.testing.assert_array_equal(read, again)


def test_features_are_of_the_order_of_one() -> None:
    rng = np.random.default_rng(4)
    wild = Context(rng.standard_normal((50, len(COLUMNS))) ** 2 * 1e4)
    read = features(
        wild, Rates.first(), np.arange(50), rng.dirichlet(np.full(COUNT, 0.01), size=50), laws(1)[0], 50.0
    )
    assert np.isfinite(read).all()
    assert np.abs(read).max() <= 4.0


def test_the_same_law_elsewhere_reads_the_same_but_for_its_place() -> None:
    law = np.zeros((3, COUNT))
    for row, at in enumerate((100, 100, 132)):
        law[row, at : at + 20] = 0.05
    read = features(Context.of(3), Rates.first(), np.arange(3), law, law[0], 3.0)
    moved = np.flatnonzero(read[2] != read[0])
    assert len(moved) == 1
    assert read[2, moved[0]] - read[0, moved[0]] == pytest.approx(1.0)  # an octave
    np.testing.assert_array_equal(read[0], read[1])


def test_no_node_is_one_node() -> None:
    law = laws(4)
    seen = RunTimes(np.arange(4), np.ones(4), np.ones(4, np.bool_), np.full(4, NO_NODE))
    context = Context.of(4).after(np.arange(4), law, np.array([20.0, 50.0, 100.0, 150.0]), seen)
    np.testing.assert_allclose(context.rows[:, 5], context.rows[:, 6])
