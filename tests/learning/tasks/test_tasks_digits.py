"""Tasks over a data set, on the digits."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from tailcut.errors import MissingExtraError, ParameterError
from tailcut.learning.tasks import data
from tailcut.learning.tasks.data import accuracy, class_loss
from tailcut.learning.tasks.digits import digits, digits_data


def test_every_fifth_sample_is_kept_back() -> None:
    found = digits_data()
    assert (len(found.labels), len(found.test_labels)) == (1437, 360)
    assert found.inputs.shape == (1437, 64)
    assert 0.0 <= float(found.inputs.min()) < float(found.inputs.max()) == 1.0
    trained = {row.numpy().tobytes() for row in found.inputs}
    assert not any(row.numpy().tobytes() in trained for row in found.test_inputs)


def test_samples_come_with_their_own_labels() -> None:
    task, found = digits(), digits_data()
    known = {row.numpy().tobytes(): int(label) for row, label in zip(found.inputs, found.labels, strict=True)}
    inputs, labels = task.batches(np.arange(20), np.arange(20), 5, seed=0)
    assert [known[row.numpy().tobytes()] for row in inputs] == labels.tolist()


def test_skew_gives_each_of_ten_workers_a_digit() -> None:
    task = digits(skew=1.0, of=10)
    _, labels = task.batches(np.arange(10), np.zeros(10, dtype=np.int64), 30, seed=0)
    most = [int(torch.bincount(part).max()) for part in torch.split(labels, 30)]
    assert min(most) >= 24


def test_evaluation_is_the_mean_over_what_is_kept_back(monkeypatch: pytest.MonkeyPatch) -> None:
    task = digits()
    net = task.net(0)
    with torch.no_grad():
        outputs = net(task.data.test_inputs)
    expected = {
        "loss": float(class_loss(outputs, task.data.test_labels).mean()),
        "accuracy": float(accuracy(outputs, task.data.test_labels)["accuracy"].mean()),
    }
    assert task.evaluate(net) == pytest.approx(expected, rel=1e-6)
    # In pieces that do not come out even, too.
    monkeypatch.setattr(data, "CHUNK", 101)
    assert task.evaluate(net) == pytest.approx(expected, rel=1e-6)


def test_evaluation_mode_holds_for_the_evaluation_only() -> None:
    task = replace(digits(), make=lambda: torch.nn.Sequential(torch.nn.Dropout(0.9), torch.nn.Linear(64, 10)))
    net = task.net(0)
    assert task.evaluate(net) == task.evaluate(net)
    assert net.training
    net.eval()
    task.evaluate(net)
    assert not net.training


def test_plain_sgd_arrives() -> None:
    task = digits()
    for seed in range(2):
        net = task.net(seed)
        optimiser = torch.optim.SGD(net.parameters(), lr=0.5)
        for number in range(200):
            optimiser.zero_grad()
            batch = task.batches(np.arange(158), np.full(158, number), task.batch, seed)
            task.losses(net, batch).mean().backward()
            optimiser.step()
        assert task.target.reached(task.evaluate(net))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r'needs scikit-learn.*pip install "tailcut\[train\]"'):
        digits()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"batch": 0}, "batch must be a whole number"),
        ({"hidden": 0}, "hidden must be a whole number"),
        ({"goal": 1.5}, "goal must be between 0 and 1"),
        ({"skew": 1.0, "of": 2000}, "of must be at most the 1437 samples"),
        ({"device": "warp"}, "device 'warp' cannot be used .*write device=cpu"),
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        digits(**wrong)  # type: ignore[arg-type]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_missing_gpu_is_told() -> None:
    with pytest.raises(ParameterError, match="device 'cuda' cannot be used"):
        digits(device="cuda")
