"""A worker's gradient, whole or in pieces, dropped or stopped at its deadline."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from tests.learning.plain import Plain

from tailcut.engines.servers.computing import Computing, Setting, net_of
from tailcut.engines.servers.orders import Job
from tailcut.engines.slow.delays import Delays
from tailcut.errors import InputError

BATCH = 8


class Clock:
    """A clock that advances only in `hold_up`, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def hold_up(self, seconds: float) -> None:
        self.now += seconds


def desk(pieces: int = 1, clock: Clock | None = None, shards: int = 2, delay: float = 1.0) -> Computing:
    clock = clock or Clock()
    delays = Delays(np.full((1, 4), delay))
    return Computing(Setting(Plain, BATCH, 0, pieces, delays, clock.hold_up), 1, shards, clock)


def parameters() -> list[np.ndarray]:
    return np.array_split(net_of(Plain(), 3).vector.numpy(), 2)


def expected(number: int, samples: int = BATCH) -> np.ndarray:
    task = Plain()
    net = net_of(task, 3)
    batch = task.batches(np.array([1]), np.array([number]), BATCH, 0)
    loss = task.losses(net.module, tuple(each[:samples] for each in batch)).mean()
    return net.gradient(loss).numpy()


@pytest.mark.parametrize("pieces", [1, 2, 3, 8, 100])
def test_the_gradient_is_that_of_the_whole_mini_batch(pieces: int) -> None:
    came, gradient = desk(pieces).compute(Job(1, 5, 7), parameters(), lambda: False)
    np.testing.assert_allclose(np.concatenate(gradient), expected(7), rtol=1e-9)
    assert [len(part) for part in gradient] == [21, 21]
    assert (came.job, came.samples, came.share, came.finite) == (Job(1, 5, 7), BATCH, 1.0, True)
    assert came.run_time == pytest.approx(1.0)
    assert came.size == 42 * 8


def test_who_is_told_to_drop_it_stops_at_the_next_micro_batch() -> None:
    clock = Clock()
    came, gradient = desk(4, clock).compute(Job(1, 0, 0), parameters(), lambda: clock.now >= 0.5)
    assert gradient == []
    assert came.was_abandoned
    assert came.run_time == 0.5


@pytest.mark.parametrize(("deadline", "samples"), [(0.6, 6), (0.5, 4), (0.0, 2), (5.0, 8)])
def test_at_its_deadline_it_gives_what_it_has_and_at_least_something(deadline: float, samples: int) -> None:
    came, gradient = desk(4).compute(Job(1, 0, 7, deadline), parameters(), lambda: False)
    assert (came.samples, came.share) == (samples, samples / BATCH)
    np.testing.assert_allclose(np.concatenate(gradient), expected(7, samples), rtol=1e-9)


def test_a_gradient_that_is_not_finite_says_so() -> None:
    came, _ = desk().compute(Job(1, 0, 0), [np.full(21, np.inf), np.zeros(21)], lambda: False)
    assert not came.finite


def test_a_net_with_statistics_of_its_own_is_refused() -> None:
    with pytest.raises(InputError, match="GroupNorm"):
        Computing(Setting(partial(Plain, norm=True), BATCH, 0), 0, 1)


def test_arrays_of_the_store_may_be_read_only() -> None:
    given = parameters()
    for each in given:
        each.flags.writeable = False
    desk().compute(Job(1, 0, 0), given, lambda: False)
    assert torch.equal(net_of(Plain(), 3).vector, torch.from_numpy(np.concatenate(given)))
