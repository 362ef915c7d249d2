"""The order of samples: a function of a few whole numbers, so that a run can resume anywhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from tailcut.errors import InputError, ParameterError
from tailcut.learning import draws
from tailcut.types import IntArray


@final
@dataclass(frozen=True, slots=True)
class Split:
    """The split of samples over workers and mini-batches.

    Attributes:
        size: number of samples.
        batch: samples in a mini-batch.
        worker: worker that computes these mini-batches, from 0.
        workers: number of workers.
        seed: seed of the order.
    """

    size: int
    batch: int
    worker: int
    workers: int
    seed: int

    def __post_init__(self) -> None:
        if self.batch < 1 or self.workers < 1:
            raise ParameterError(
                f"batch and workers must be at least 1, but got batch={self.batch}, workers={self.workers}."
            )
        if not 0 <= self.worker < self.workers:
            raise ParameterError(
                f"worker must be from 0 to {self.workers - 1} with {self.workers} workers, but got {self.worker}."
            )
        if self.size < self.batch * self.workers:
            raise ParameterError(
                f"{self.size} samples are too few for {self.workers} workers with {self.batch} each. "
                f"Give a batch of at most {self.size // self.workers}."
            )

    @property
    def steps(self) -> int:
        """The number of mini-batches that each worker has in a pass over the data."""
        return self.size // (self.batch * self.workers)


@final
class Order:
    """The endless mini-batches of one worker: `order[k]` is the k-th, and iterating yields them in turn.

    Each pass over the data is in an order of its own, a function of the seed and of the number of the pass. In a pass
    every worker has `size // (batch · workers)` mini-batches, and no sample is in two. The rest, less than
    `batch · workers` samples, is left out of that pass; in the next pass it consists of other samples.

    Use it as `DataLoader(dataset, batch_sampler=order)`. A loader that reads ahead has taken more from here
    than it has given out: count the batches that were used, and begin at `start`; `retaking` repeats one.

    Args:
        size: number of samples.
        batch: samples in a mini-batch.
        worker: worker that computes these mini-batches, from 0.
        workers: number of workers.
        seed: seed of the order.
        start: number of the mini-batch to begin with.

    Raises:
        ParameterError: these do not go together.

    Example:
        >>> both = [Order(size=9, batch=2, worker=worker, workers=2, seed=7) for worker in (0, 1)]
        >>> sorted(sample for order in both for k in range(2) for sample in order[k])
        [0, 1, 2, 3, 5, 6, 7, 8]
    """

    def __init__(
        self, size: int, batch: int, worker: int = 0, workers: int = 1, seed: int = 0, start: int = 0
    ) -> None:
        if start < 0:
            raise ParameterError(f"start must be 0 or more, but got {start}.")
        self.split = Split(size, batch, worker, workers, seed)
        self.last: int | None = None
        """Number of the mini-batch that was handed out last; None before the first."""
        self._next, self._again = start, deque[int]()
        self._pass, self._samples = -1, np.empty(0, np.int64)

    def __getitem__(self, number: int) -> list[int]:
        """Return the samples of a mini-batch, by its number from 0."""
        if number < 0:
            raise IndexError(f"Mini-batches are counted from 0, but got {number}.")
        split = self.split
        many, step = divmod(number, split.steps)
        begin = (step * split.workers + split.worker) * split.batch
        found: list[int] = self._shuffled(many)[begin : begin + split.batch].tolist()
        return found

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the next mini-batches, without end."""
        while True:
            self.last = self._again.popleft() if self._again else self._next
            self._next = max(self._next, self.last + 1)
            yield self[self.last]

    def begin(self, number: int) -> None:
        """Hand out this mini-batch next, and then those that follow it."""
        if number < 0:
            raise ParameterError(f"Mini-batches are counted from 0, but got {number}.")
        self._next, self.last = number, None
        self._again.clear()

    def take_back(self, number: int | None = None) -> None:
        """Hand out a mini-batch again whose gradient was dropped, before any new one.

        Args:
            number: its number; None for the one that was handed out last.
        """
        number = self.last if number is None else number
        if number is None or not 0 <= number < self._next or number in self._again:
            raise ParameterError(
                f"Only a mini-batch that was handed out can be taken back, but got {number}."
            )
        self._again.append(number)

    def state(self) -> dict[str, Any]:
        """Return the position in the order, in plain values."""
        return {"split": asdict(self.split), "next": self._next, "again": list(self._again)}

    def load(self, state: dict[str, Any]) -> None:
        """Resume from a state that `state` returned.

        Raises:
            InputError: it is the state of an order with another split, or no such state.
        """
        match state:
            case {"split": dict(split), "next": int(coming), "again": [*again]} if coming >= 0:
                pass
            case _:
                raise InputError(f"This is no state of an order: {str(state)[:80]}.")
        own = asdict(self.split)
        if differing := [name for name in own if own[name] != split.get(name)]:
            told = ", ".join(f"{name} was {split.get(name)} and is {own[name]}" for name in differing)
            raise InputError(f"The data is split otherwise than in the state: {told}. Give what it was.")
        if not all(isinstance(each, int) and 0 <= each < coming for each in again):
            raise InputError(f"This is no state of an order: mini-batches {again} cannot come again.")
        self._next, self._again, self.last = coming, deque(again), None

    def _shuffled(self, many: int) -> IntArray:
        """Return all samples in the order of a pass."""
        if many != self._pass:
            bits = draws.mixed(self.split.seed, many, np.arange(self.split.size))
            self._pass, self._samples = many, np.argsort(bits, kind="stable")
        return self._samples
