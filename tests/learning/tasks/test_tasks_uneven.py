"""Long sequences: as often and as long as said, and not to be learnt from short ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tailcut.errors import ParameterError
from tailcut.learning.tasks.uneven import WORDS, Uneven

WORKERS, NUMBERS = np.arange(20_000) % 100, np.arange(20_000) // 100


def trained(task: Uneven, short_only: bool) -> dict[str, float]:
    net = task.net(0)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
    workers = np.arange(64)
    for number in range(120):
        numbers = np.full(64, number)
        long, _ = task.kinds(workers, numbers, 0)
        taken = workers[~long] if short_only else workers
        optimiser.zero_grad()
        task.losses(net, task.batches(taken, np.full(len(taken), number), 4, seed=0)).mean().backward()
        optimiser.step()
    return task.evaluate(net)


def test_lengths_follow_their_law() -> None:
    task = Uneven(long=0.2, short_from=3, short_to=5, long_from=9, long_to=10)
    long, lengths = task.kinds(WORKERS, NUMBERS, seed=1)
    assert long.mean() == pytest.approx(0.2, abs=5.5 * math.sqrt(0.16 / 20_000))
    assert set(lengths[~long]) == {3, 4, 5}
    assert set(lengths[long]) == {9, 10}
    shares = np.bincount(lengths[~long])[3:] / (~long).sum()
    assert shares == pytest.approx([1 / 3] * 3, abs=0.025)


def test_work_is_the_length_over_its_mean() -> None:
    task = Uneven()
    _, lengths = task.kinds(WORKERS[:500], NUMBERS[:500], seed=2)
    work = [task.work(int(w), int(k), 2) for w, k in zip(WORKERS[:500], NUMBERS[:500], strict=True)]
    mean = 0.85 * 12 + 0.15 * 40
    np.testing.assert_allclose(work, lengths / mean)
    _, many = task.kinds(WORKERS, NUMBERS, seed=2)
    assert many.mean() == pytest.approx(mean, rel=0.03)


def test_sequences_are_as_long_as_their_mini_batch_and_of_its_words() -> None:
    task = Uneven()
    workers, numbers = np.arange(200), np.zeros(200, dtype=np.int64)
    long, lengths = task.kinds(workers, numbers, seed=3)
    sequences, topics = task.batches(workers, numbers, 4, seed=3)
    words = sequences.view(200, 4, -1).numpy()
    assert ((words > 0).sum(-1) == lengths[:, None]).all()
    beyond = np.arange(task.long_to) >= lengths[:, None, None]
    assert ((words == 0) == beyond).all()
    assert words[long].max() > 2 * WORDS - 5
    assert (words[~long] <= WORDS).all()
    assert (words[long][words[long] > 0] > WORDS).all()
    assert set(topics.tolist()) == set(range(task.classes))


def test_words_belong_to_their_topic_as_often_as_said() -> None:
    task = Uneven(clear=0.5, classes=8)
    sequences, topics = task.batches(np.arange(400), np.zeros(400, dtype=np.int64), 4, seed=4)
    there = sequences > 0
    own = ((sequences - 1) % 8 == topics[:, None])[there].float()
    chance = 0.5 + 0.5 / 8
    assert float(own.mean()) == pytest.approx(chance, abs=5.5 * math.sqrt(chance * (1 - chance) / len(own)))


def test_figures_are_weighted_as_mini_batches_come() -> None:
    task = Uneven(long=0.3)
    figures = task.evaluate(task.net(5))
    for name in ("loss", "accuracy"):
        assert figures[name] == pytest.approx(0.7 * figures[f"{name}_short"] + 0.3 * figures[f"{name}_long"])


def test_who_drops_long_sequences_never_learns_them() -> None:
    task = Uneven()
    all_, short = trained(task, short_only=False), trained(task, short_only=True)
    assert task.target.reached(all_)
    assert all_["accuracy_long"] > 0.9
    assert short["accuracy_short"] > 0.9
    assert short["accuracy_long"] < 0.3
    assert not task.target.reached(short)


@pytest.mark.parametrize(
    "wrong",
    [{"long": 1.2}, {"classes": 1}, {"classes": 65}, {"short_to": 4}, {"long_from": 12}, {"clear": -0.1}],
)
def test_impossible_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Uneven(**wrong)  # type: ignore[arg-type]
