"""Epoch loops: the updates of an epoch, and the place in the data where a worker begins or resumes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._C._distributed_c10d import HashStore
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, IterableDataset, TensorDataset

from tailcut.engines.live.checkpoints import Order, retaking
from tailcut.engines.live.worker.epoch_loops import Passes, length_of, updates_of
from tailcut.engines.live.worker.session import Session
from tailcut.errors import ParameterError

DATA = TensorDataset(torch.arange(24))


class Stream(IterableDataset[torch.Tensor]):
    """Data without a length, in an order of its own in every epoch."""

    def __init__(self) -> None:
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(torch.arange(6) + 100 * self.epoch)


class Told:
    """A loader that notes what it is told."""

    def __init__(self, length: int) -> None:
        self.length, self.epochs = length, list[int]()

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[str]:
        return iter([f"{self.epochs[-1]}.{number}" for number in range(self.length)])

    def set_epoch(self, epoch: int) -> None:
        self.epochs.append(epoch)


def sampled(shuffled_by: int, workers: int = 2) -> DataLoader[Any]:
    sampler: DistributedSampler[Any] = DistributedSampler(
        DATA, num_replicas=workers, rank=0, seed=shuffled_by
    )
    return DataLoader(DATA, batch_size=3, sampler=sampler)


def numbers(batches: Iterator[Any], many: int) -> list[Any]:
    return [batch[0].tolist() for batch in islice(batches, many)]


# How long an epoch is.


def test_an_epoch_has_as_many_updates_as_the_loader_has_batches_or_as_are_asked_for() -> None:
    assert updates_of(sampled(1)) == 4
    assert updates_of(sampled(1), 7) == 7
    assert updates_of(DataLoader(Stream(), batch_size=2), 5) == 5
    order = Order(size=24, batch=4, workers=2)
    assert updates_of(DataLoader(DATA, batch_sampler=order)) == updates_of(order) == 3


@pytest.mark.parametrize(
    ("loader", "updates", "sentence"),
    [
        (
            DataLoader(Stream(), batch_size=2),
            None,
            "The loader has no length, so nobody knows when an epoch ends",
        ),
        (iter("abc"), None, "The loader has no length"),
        ([], None, "at least 1 update, but got 0. The loader is empty"),
        ("abc", 0, "at least 1 update, but got 0. Give updates=1000"),
    ],
)
def test_epochs_that_have_no_end(loader: Any, updates: int | None, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        updates_of(loader, updates)


# Which batches an epoch has.


@pytest.mark.parametrize("done", range(5))
def test_a_worker_that_begins_within_an_epoch_gets_the_batches_that_are_left(done: int) -> None:
    whole = numbers(Passes(sampled(1)).in_epoch(2, 4, 0), 4)
    assert numbers(Passes(sampled(1)).in_epoch(2, 4, done), 4 - done) == whole[done:]


def test_every_epoch_has_an_order_of_its_own_which_the_sampler_makes() -> None:
    passes = Passes(sampled(1))
    found = [numbers(passes.in_epoch(epoch, 4, 0), 4) for epoch in (0, 1, 0)]
    assert found[0] == found[2] != found[1]
    sampler: DistributedSampler[Any] = DistributedSampler(DATA, num_replicas=2, rank=0, seed=1)
    sampler.set_epoch(1)
    assert [n for batch in found[1] for n in batch] == list(sampler)


def test_samplers_are_told_of_epochs_wherever_they_are() -> None:
    inner: DistributedSampler[Any] = DistributedSampler(DATA, num_replicas=2, rank=0)
    loader = DataLoader(DATA, batch_sampler=BatchSampler(inner, 3, drop_last=True))
    list(islice(Passes(loader).in_epoch(3, 4, 0), 1))
    assert inner.epoch == 3
    assert numbers(Passes(DataLoader(Stream(), batch_size=2)).in_epoch(2, 3, 0), 2) == [200, 202]


def test_a_loader_that_is_shorter_than_the_epoch_is_begun_anew_in_another_order() -> None:
    loader = Told(3)
    passes = Passes(loader)
    assert list(islice(passes.in_epoch(0, 5, 0), 5)) == ["0.0", "0.1", "0.2", "1.0", "1.1"]
    assert list(islice(passes.in_epoch(1, 5, 0), 5)) == ["2.0", "2.1", "2.2", "3.0", "3.1"]
    assert list(islice(passes.in_epoch(1, 5, 4), 1)) == ["3.1"]


def test_a_loader_that_is_longer_than_the_epoch_is_cut() -> None:
    loader = Told(9)
    assert list(islice(Passes(loader).in_epoch(4, 5, 3), 2)) == ["4.3", "4.4"]
    assert loader.epochs == [4]


def test_data_without_a_length_are_passed_over_too() -> None:
    loader = DataLoader(Stream(), batch_size=2)
    assert length_of(loader) is None
    batches = Passes(loader).in_epoch(1, 8, 4)
    assert [each.tolist() for each in islice(batches, 2)] == [[202, 203], [204, 205]]


def test_what_can_be_gone_through_only_once_ends() -> None:
    assert list(Passes(iter("abc")).in_epoch(0, 5, 0)) == ["a", "b", "c"]
    assert list(Passes([]).in_epoch(0, 5, 0)) == []


@pytest.mark.parametrize("position", [0, 4, 5, 13])
def test_a_resumable_order_begins_where_it_is_told_without_reading_what_was_before(position: int) -> None:
    read = list[int]()

    class Data(TensorDataset):
        def __getitem__(self, index: Any) -> Any:
            read.append(index)
            return super().__getitem__(index)

    data = Data(torch.arange(24))
    order = Order(size=24, batch=4, worker=1, workers=2, seed=5)
    batches = Passes(DataLoader(data, batch_sampler=order)).batches(0, position)
    assert numbers(batches, 3) == [order[position + k] for k in range(3)]
    assert len(read) <= 4 * 4


def test_dropped_batches_come_again_across_epochs_and_a_resumed_worker_goes_on_where_it_was() -> None:
    """The place in the data with `retake` is the number of accepted gradients, whatever the epoch is."""
    fates = iter([True, False, False, True, False])
    taken = retaking(Passes(Told(3)).batches(0, 0), lambda: next(fates))
    assert list(islice(taken, 6)) == ["0.0", "0.0", "0.1", "0.2", "0.2", "1.0"]
    assert list(islice(Passes(Told(3)).batches(0, 3), 1)) == ["1.0"]


# One decision for all.


def asking(store: HashStore) -> Any:
    """Return the parts of a session that an agreement needs."""
    return SimpleNamespace(_start=SimpleNamespace(store=store))


def test_the_first_worker_decides_for_all_at_every_place() -> None:
    store = HashStore()
    one, other = asking(store), asking(store)
    assert Session.agree(one, "end of epoch 0 0", True) is True
    assert Session.agree(other, "end of epoch 0 0", False) is True
    assert Session.agree(other, "end of epoch 1 0", {"loss": 0.1, "best": None}) == {
        "loss": 0.1,
        "best": None,
    }
    assert Session.agree(one, "end of epoch 1 0", 3) == {"loss": 0.1, "best": None}


def test_workers_cannot_agree_on_tensors() -> None:
    with pytest.raises(
        ParameterError, match=r"but got tensor\(\[1.\]\). Of a tensor with one number give .item\(\)."
    ):
        Session.agree(asking(HashStore()), "end of epoch 0 0", torch.ones(1))
