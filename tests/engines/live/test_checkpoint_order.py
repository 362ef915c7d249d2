"""The order of samples: each once per pass, the same after a resume, none lost to a dropped gradient."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader, TensorDataset

from tailcut.engines.live.checkpoints import Order, Positions, retaking
from tailcut.errors import InputError, ParameterError

splits = st.builds(
    lambda workers, batch, more, seed: {
        "size": workers * batch + more,
        "batch": batch,
        "workers": workers,
        "seed": seed,
    },
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(0, 40),
    st.integers(0, 2**40),
)


def dropped(in_time: dict[int, bool], worker: int) -> bool:
    return not in_time[worker]


def of_all(split: dict[str, int]) -> list[Order]:
    return [Order(**split, worker=worker) for worker in range(split["workers"])]


@given(split=splits, which=st.integers(0, 5))
@settings(max_examples=200, deadline=None)
def test_every_pass_has_every_sample_once_but_for_the_remainder(split: dict[str, int], which: int) -> None:
    orders = of_all(split)
    steps = orders[0].split.steps
    batches = [order[which * steps + step] for order in orders for step in range(steps)]
    counts = Counter(sample for batch in batches for sample in batch)
    assert {len(batch) for batch in batches} == {split["batch"]}
    assert set(counts.values()) == {1}
    assert set(counts) <= set(range(split["size"]))
    left_out = split["size"] - len(counts)
    assert left_out == split["size"] % (split["batch"] * split["workers"])


@given(split=splits, start=st.integers(0, 30))
@settings(max_examples=50, deadline=None)
def test_iterating_is_indexing(split: dict[str, int], start: int) -> None:
    order = Order(**split, start=start)
    assert list(islice(order, 7)) == [order[start + number] for number in range(7)]
    assert order.last == start + 6


def test_passes_differ_and_are_evenly_mixed() -> None:
    """Each of the 120 orders of 5 samples comes about 17 times in 2000 passes."""
    order = Order(size=5, batch=5)
    seen = Counter(tuple(order[number]) for number in range(2000))
    assert len(seen) == 120
    expected = 2000 / 120
    assert (
        sum((count - expected) ** 2 / expected for count in seen.values()) < 190
    )  # p < 0.0001 of 119 degrees


def test_the_order_is_a_matter_of_the_seed_alone() -> None:
    one = [Order(size=50, batch=5, seed=seed)[number] for seed in (1, 2) for number in (0, 10)]
    two = [Order(size=50, batch=5, seed=seed)[number] for seed in (1, 2) for number in (0, 10)]
    assert one == two
    assert len({tuple(batch) for batch in one}) == 4
    # Whatever numpy makes of its generators: a checkpoint outlives a version of it.
    assert Order(size=12, batch=4, worker=1, workers=2, seed=3)[5] == [10, 2, 1, 8]


deeds = st.lists(st.sampled_from(["take", "take", "take back", "save", "resume"]), max_size=40)


@given(split=splits, script=deeds)
@settings(max_examples=150, deadline=None)
def test_who_goes_on_from_a_state_goes_on_alike(split: dict[str, int], script: list[str]) -> None:
    order = Order(**split)
    coming = iter(order)
    for deed in script:
        if deed == "take":
            next(coming)
        elif deed == "take back" and order.last is not None and order.last not in order.state()["again"]:
            order.take_back()
        elif deed == "resume":
            state = json.loads(json.dumps(order.state()))
            order = Order(**split)
            order.load(state)
            coming = iter(order)
    other = Order(**split)
    other.load(order.state())
    assert list(islice(order, 9)) == list(islice(other, 9))


@given(split=splits, fates=st.lists(st.booleans(), max_size=60), data=st.data())
@settings(max_examples=150, deadline=None)
def test_with_taking_back_nothing_is_lost_or_counted_twice(
    split: dict[str, int], fates: list[bool], data: Any
) -> None:
    """Interrupted anywhere: every mini-batch up to the newest has counted once, or is still to come."""
    stop = data.draw(st.integers(0, len(fates)))
    order = Order(**split)
    counted: list[int] = []
    for place, (fate, _) in enumerate(zip(fates, order, strict=False)):
        assert order.last is not None
        counted.append(order.last) if fate else order.take_back()
        if place == stop:
            break
    state = order.state()
    order = Order(**split)
    order.load(state)
    for fate, _ in zip(fates[stop + 1 :], order, strict=False):
        assert order.last is not None
        counted.append(order.last) if fate else order.take_back()
    again = order.state()["again"]
    assert len(set(counted)) == len(counted)
    assert {*counted, *again} == set(range(order.state()["next"]))
    assert not set(counted) & set(again)


def test_what_is_taken_back_comes_before_anything_new() -> None:
    order = Order(size=20, batch=2)
    coming = iter(order)
    next(coming)
    next(coming)
    order.take_back()
    assert next(coming) == order[1]
    assert order.last == 1
    assert next(coming) == order[2]
    order.take_back(0)
    order.take_back()
    assert [next(coming), next(coming), next(coming)] == [order[0], order[2], order[3]]


def test_what_cannot_be_taken_back() -> None:
    order = Order(size=20, batch=2)
    with pytest.raises(ParameterError, match="handed out can be taken back, but got None"):
        order.take_back()
    next(iter(order))
    order.take_back()
    for number in (0, 1, -1):
        with pytest.raises(ParameterError, match=f"can be taken back, but got {number}"):
            order.take_back(number)


@pytest.mark.parametrize("processes", [0, 1])
def test_a_loader_takes_it(processes: int) -> None:
    numbers = torch.arange(40) * 10
    order = Order(size=40, batch=4, worker=1, workers=2, seed=5, start=3)
    loader = DataLoader(TensorDataset(numbers), batch_sampler=order, num_workers=processes)
    found = [batch.tolist() for (batch,) in islice(loader, 6)]
    assert found == [[10 * sample for sample in order[3 + number]] for number in range(6)]


@given(
    split=splits,
    accepted=st.lists(st.sets(st.integers(0, 4)), max_size=30),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_positions_of_all_come_from_the_log(
    split: dict[str, int], accepted: list[set[int]], data: Any
) -> None:
    """Each worker computes in every round; one whose gradient is dropped takes the mini-batch again.

    All end at some update and begin again from what one of them kept: every worker's gradients in updates are of its
    mini-batches 0, 1, 2, …, none missing, none twice.
    """
    workers = range(split["workers"])
    rounds = [each & set(workers) for each in accepted]
    end = data.draw(st.integers(0, len(rounds)))
    used: dict[int, list[list[int]]] = {worker: [] for worker in workers}
    positions = Positions()
    for part in (rounds[:end], rounds[end:]):
        # A restart keeps nothing but the state.
        positions = Positions.at(json.loads(json.dumps(positions.state())))
        in_time = dict.fromkeys(workers, True)
        loops = {
            worker: retaking(
                Order(**split, worker=worker, start=positions.of(worker)), partial(dropped, in_time, worker)
            )
            for worker in workers
        }
        for members in part:
            batches = {worker: next(loops[worker]) for worker in workers}
            in_time.update({worker: worker in members for worker in workers})
            for worker in members:
                used[worker].append(batches[worker])
            positions = positions.after(members)
    for worker, order in enumerate(of_all(split)):
        assert used[worker] == [order[number] for number in range(positions.of(worker))]
        assert positions.of(worker) == sum(worker in members for members in rounds)


@given(split=splits)
@settings(max_examples=30, deadline=None)
def test_numbers_are_plain(split: dict[str, int]) -> None:
    assume(split["size"] > 1)
    assert all(type(sample) is int for sample in Order(**split)[0])


def test_a_large_set_takes_a_moment_per_pass_and_nothing_per_batch() -> None:
    order = Order(size=200_000, batch=10, worker=3, workers=8)
    samples = [sample for number in range(2500) for sample in order[number]]
    assert len(set(samples)) == 25_000
    assert np.ptp(samples) > 190_000


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"batch": 0}, "batch and workers must be at least 1, but got batch=0, workers=2"),
        ({"workers": 0}, "batch and workers must be at least 1, but got batch=3, workers=0"),
        ({"worker": 2}, "worker must be from 0 to 1 with 2 workers, but got 2"),
        ({"size": 5}, "5 samples are too few for 2 workers with 3 each. Give a batch of at most 2"),
        ({"start": -1}, "start must be 0 or more, but got -1"),
    ],
)
def test_splits_that_cannot_be(changes: dict[str, int], sentence: str) -> None:
    usual = {"size": 20, "batch": 3, "worker": 0, "workers": 2, "seed": 0, "start": 0}
    Order(**usual)
    with pytest.raises(ParameterError, match=sentence):
        Order(**(usual | changes))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"next": -1}, "This is no state of an order"),
        ({"next": "3"}, "This is no state of an order"),
        ({"again": [5]}, r"mini-batches \[5\] cannot come again"),
        (
            {"split": {"size": 20, "batch": 3, "worker": 1, "workers": 4, "seed": 0}},
            "worker was 1 and is 0, workers was 4",
        ),
    ],
)
def test_states_that_cannot_be(change: dict[str, Any], sentence: str) -> None:
    order = Order(size=20, batch=3)
    order.load(order.state())
    with pytest.raises(InputError, match=sentence):
        order.load(order.state() | change)


@pytest.mark.parametrize("state", [None, {}, [1], [[1]], [[1, -2]], [["0", 1]], "state"])
def test_positions_that_cannot_be(state: object) -> None:
    with pytest.raises(InputError, match="This is no state of positions in data"):
        Positions.at(state)


def test_negative_numbers_are_no_mini_batches() -> None:
    with pytest.raises(IndexError, match="counted from 0, but got -1"):
        Order(size=4, batch=2)[-1]
