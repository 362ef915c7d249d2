"""A shard makes every update once and in order, and nothing before it was given its piece."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tailcut.engines.servers.orders import Order
from tailcut.engines.servers.pieces import Piece
from tailcut.engines.servers.shard import Shard
from tailcut.engines.servers.slices import Slices
from tailcut.errors import ParameterError
from tailcut.learning.optimisers import OPTIMISERS

SIZE = 11


def order(base: int, count: int = 2, name: str | None = None, scale: float = 1.0) -> Order:
    weights = tuple(4.0 for _ in range(count))
    groups = ((*range(0, count, 2),), (*range(1, count, 2),)) if count > 1 else ((0,),) if count else ()
    samples = tuple(4 * len(group) for group in groups)
    return Order(name or f"0.{base}", base, 0.1, groups, weights, samples, 4.0 * max(count, 1), scale)


def gradients(base: int, count: int = 2, size: int = SIZE) -> list[np.ndarray]:
    rng = np.random.default_rng(base)
    return [rng.standard_normal(size).astype(np.float32) for _ in range(count)]


def shard(optimiser: str = "momentum", vector: np.ndarray | None = None) -> Shard:
    one = Shard(0, optimiser, np.ones(SIZE, dtype=np.bool_))
    one.give(Piece(0, np.zeros(SIZE, dtype=np.float32) if vector is None else vector, {}))
    return one


def same(one: Piece, other: Piece) -> bool:
    states = one.state.keys() == other.state.keys() and all(
        np.array_equal(one.state[key], other.state[key]) for key in one.state
    )
    return one.version == other.version and np.array_equal(one.vector, other.vector) and states


def test_before_it_was_given_anything_it_refuses() -> None:
    fresh = Shard(2, "sgd", np.ones(SIZE, dtype=np.bool_))
    answer = fresh.apply(order(0), gradients(0))
    assert (answer.shard, answer.version) == (2, None)
    assert "restarted" in answer.refused
    assert fresh.weigh(order(0), gradients(0)).refused


@pytest.mark.parametrize("base", [0, 2])
def test_an_update_of_another_version_is_refused_and_changes_nothing(base: int) -> None:
    one = shard()
    one.apply(order(0), gradients(0))
    before = one.piece()
    answer = one.apply(order(base, name="other"), gradients(base))
    assert answer.refused == f"it has version 1, not {base}"
    assert same(one.piece(), before)


def test_an_update_that_comes_twice_is_made_once_and_answered_twice() -> None:
    one = shard()
    first = one.apply(order(0), gradients(0))
    before = one.piece()
    assert one.apply(order(0), gradients(0)) == first
    assert same(one.piece(), before)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_restored_from_its_piece_it_goes_on_bit_for_bit(optimiser: str) -> None:
    one = shard(optimiser)
    for base in range(3):
        one.apply(order(base), gradients(base))
    other = Shard(0, optimiser, np.ones(SIZE, dtype=np.bool_))
    other.give(one.piece())
    for base in range(3, 6):
        assert one.apply(order(base), gradients(base)) == other.apply(order(base), gradients(base))
    assert same(one.piece(), other.piece())


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_pieces_of_a_vector_are_trained_as_the_vector_is(optimiser: str) -> None:
    whole, slices = shard(optimiser), Slices(SIZE, 3).all
    parts = [
        Shard(k, optimiser, np.ones(each.stop - each.start, dtype=np.bool_)) for k, each in enumerate(slices)
    ]
    for part, each in zip(parts, slices, strict=True):
        part.give(Piece(0, np.zeros(each.stop - each.start, dtype=np.float32), {}))
    for base in range(5):
        found = gradients(base)
        one = whole.apply(order(base), found)
        each_one = [p.apply(order(base), [g[s] for g in found]) for p, s in zip(parts, slices, strict=True)]
        assert sum(answer.big for answer in each_one) == pytest.approx(one.big, rel=1e-5)
    assert np.array_equal(np.concatenate([part.piece().vector for part in parts]), whole.piece().vector)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_an_update_that_was_not_made_by_all_is_undone(optimiser: str) -> None:
    one = shard(optimiser)
    one.apply(order(0), gradients(0))
    before = one.piece()
    one.apply(order(1), gradients(1))
    assert not one.go_back(1).refused
    assert same(one.piece(), before)
    assert one.go_back(1).version == 1, "where nothing was made nothing is undone"
    assert one.go_back(5).refused == "it has version 1, not 5"


def test_an_update_of_no_gradients_changes_the_version_alone() -> None:
    one = shard("adam")
    one.apply(order(0), gradients(0))
    before = one.piece()
    assert one.apply(order(1, count=0), []).version == 2
    after = one.piece()
    assert np.array_equal(after.vector, before.vector)
    assert np.array_equal(after.state["exp_avg"], before.state["exp_avg"])


def test_the_mean_is_over_the_divisor_and_scaled() -> None:
    one = shard("sgd")
    found = gradients(0, 3)
    weighed = one.weigh(order(0, 3), found)
    mean = torch.tensor(np.stack(found)).double().mean(0)
    assert weighed.norm == pytest.approx(float(mean.square().sum()), rel=1e-5)
    one.apply(order(0, 3, scale=0.5), found)
    np.testing.assert_allclose(one.piece().vector, -0.1 * 0.5 * mean.numpy(), rtol=1e-4, atol=1e-6)


def test_gradients_are_not_changed_by_being_added_up() -> None:
    one, found = shard(), gradients(0)
    before = [each.copy() for each in found]
    for each in found:
        each.flags.writeable = False
    one.apply(order(0), found)
    assert all(np.array_equal(x, y) for x, y in zip(found, before, strict=True))


@given(size=st.integers(1, 10_000), shards=st.integers(1, 64))
def test_slices_cover_everything_and_are_level(size: int, shards: int) -> None:
    if shards > size:
        with pytest.raises(ParameterError, match="can be divided over"):
            Slices(size, shards)
        return
    pieces = Slices(size, shards).all
    assert [pieces[0].start, pieces[-1].stop] == [0, size]
    assert all(one.stop == two.start for one, two in pairwise(pieces))
    lengths = [piece.stop - piece.start for piece in pieces]
    assert max(lengths) - min(lengths) <= 1
