"""Sequences whose length determines their run time, with words that only the long ones contain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tailcut.learning import draws
from tailcut.learning.nets import seeded
from tailcut.learning.tasks.base import Batch, Predict, Target, Task
from tailcut.learning.tasks.checks import between, require, whole
from tailcut.learning.tasks.data import judging
from tailcut.types import BoolArray, IntArray

KIND, LENGTH, LABEL, WORD, CLEAR = 21, 22, 23, 24, 25
JUDGE_SEED, JUDGED = 20_140_615, 512
WORDS = 64
"""Number of different words in short sequences, and of other words in long ones."""


class Bag(nn.Module):
    """A net of the mean of a sequence's word vectors and one hidden layer; word 0 is padding, not counted."""

    def __init__(self, words: int, width: int, classes: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(words, width)
        self.out = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, classes))

    def forward(self, sequences: Tensor) -> Tensor:
        """`(samples, longest)` words to `(samples, classes)` log-odds."""
        there = (sequences > 0).float()[..., None]
        mean = (self.vectors(sequences) * there).sum(1) / there.sum(1)
        out: Tensor = self.out(mean)
        return out


@final
@dataclass(frozen=True, slots=True)
class Uneven(Task):
    """Topics of sequences whose length decides how long they take; shows what dropping does.

    All sequences of one mini-batch have one length, as in bucketed text. A share `long` of the mini-batches
    is about three times as long, takes as much longer, and uses words of its own: a net trained under a
    policy that never waits for those never learns these words. A word belongs to its topic with probability
    `clear`; otherwise it is any word of that kind of sequence.

    Attributes:
        batch: sequences in a worker's mini-batch.
        long: share of long mini-batches.
        classes: number of topics.
        short_from, short_to, long_from, long_to: lengths in words, equally likely within each range.
        clear: probability that a word is one of its topic's own.
        width: width of the net.
        goal: accuracy over all mini-batches at which a run has reached its target.
    """

    batch: int = 4
    long: float = 0.15
    classes: int = 8
    short_from: int = 8
    short_to: int = 16
    long_from: int = 32
    long_to: int = 48
    clear: float = 0.5
    width: int = 32
    goal: float = 0.9

    def __post_init__(self) -> None:
        for name in ("batch", "width"):
            whole(name, getattr(self, name))
        whole("classes", self.classes, 2, WORDS)
        for name in ("long", "clear", "goal"):
            between(name, getattr(self, name), 0.0, 1.0)
        edges = (self.short_from, self.short_to, self.long_from, self.long_to)
        for name, edge in zip(("short_from", "short_to", "long_from", "long_to"), edges, strict=True):
            whole(name, edge, high=10_000)
        rule = "lengths must not fall from short_from over short_to and long_from to long_to"
        require(tuple(sorted(edges)) == edges, rule, edges, "give four rising lengths")

    @property
    def target(self) -> Target:
        """The accuracy to reach, over long and short sequences in their usual shares."""
        return Target("accuracy", self.goal, "least")

    def net(self, seed: int) -> nn.Module:
        """Make a bag-of-words net."""
        return seeded(lambda: Bag(1 + 2 * WORDS, self.width, self.classes), seed)

    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        """`(k · size, long_to)` words, 0 beyond a sequence's end, and `(k · size,)` topics."""
        long, lengths = self.kinds(workers, numbers, seed)
        return self._written(seed, long, lengths, (workers[:, None], numbers[:, None], np.arange(size)))

    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        """Return the `(samples,)` losses."""
        sequences, topics = batch
        return cross_entropy(predict(sequences), topics, reduction="none")

    def evaluate(self, net: nn.Module) -> dict[str, float]:
        """Return figures on new sequences: of short ones, of long ones, and of both in their usual shares."""
        with judging(net):
            short, long = (self._judged(net, is_long) for is_long in (False, True))
        return {
            **{name: (1 - self.long) * short[name] + self.long * long[name] for name in short},
            **{f"{name}_short": value for name, value in short.items()},
            **{f"{name}_long": value for name, value in long.items()},
        }

    def work(self, worker: int, number: int, seed: int) -> float:
        """Return the length of the mini-batch's sequences over the mean length."""
        _, lengths = self.kinds(np.array([worker]), np.array([number]), seed)
        short, long = (self.short_from + self.short_to) / 2, (self.long_from + self.long_to) / 2
        return float(lengths[0]) / ((1 - self.long) * short + self.long * long)

    def kinds(self, workers: IntArray, numbers: IntArray, seed: int) -> tuple[BoolArray, IntArray]:
        """Return `(k,)` whether each mini-batch is long, and `(k,)` lengths."""
        long = draws.uniform(seed, workers, numbers, KIND) < self.long
        return long, self._lengths(long, draws.uniform(seed, workers, numbers, LENGTH))

    def _lengths(self, long: BoolArray, u: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> IntArray:
        first = np.where(long, self.long_from, self.short_from)
        count = np.where(long, self.long_to, self.short_to) - first + 1
        out: IntArray = first + np.minimum((u * count).astype(np.int64), count - 1)
        return out

    def _judged(self, net: nn.Module, is_long: bool) -> dict[str, float]:
        numbers = np.arange(JUDGED)
        long = np.full(JUDGED, is_long)
        lengths = self._lengths(long, draws.uniform(JUDGE_SEED, numbers, LENGTH))
        sequences, topics = self._written(
            JUDGE_SEED,
            long,
            lengths,
            (numbers[:, None], np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)),
        )
        outputs = net(sequences)
        loss = cross_entropy(outputs, topics, reduction="none")
        right = outputs.argmax(-1) == topics
        return {"loss": float(loss.double().mean()), "accuracy": float(right.double().mean())}

    def _written(self, seed: int, long: BoolArray, lengths: IntArray, place: tuple[IntArray, ...]) -> Batch:
        """Return sequences and topics of `k` mini-batches at places that broadcast to `(k, size)`."""
        topics = draws.below(self.classes, seed, *place, LABEL)
        at = (*(part[..., None] for part in place), np.arange(self.long_to))
        clear = draws.uniform(seed, *at, CLEAR) < self.clear
        any_word = draws.below(WORDS, seed, *at, WORD)
        # A topic's own words are those whose number modulo `classes` is the topic, in each kind of sequence.
        own = any_word - any_word % self.classes + topics[..., None]
        words = 1 + np.where(clear, own % WORDS, any_word) + WORDS * long[:, None, None]
        words = np.where(np.arange(self.long_to) < lengths[:, None, None], words, 0)
        return torch.from_numpy(words.reshape(-1, self.long_to)), torch.from_numpy(topics.ravel())
