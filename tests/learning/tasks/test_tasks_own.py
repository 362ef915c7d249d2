"""A user's own net and data set, from Python and from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tailcut import names
from tailcut.errors import InputError, ParameterError
from tailcut.learning.tasks.base import Target
from tailcut.learning.tasks.data import DataTask
from tailcut.learning.tasks.own import own, task_of

X = np.linspace(-1.0, 1.0, 40)[:, None]
CLASSES, NUMBERS = (X[:, 0] > 0).astype(np.int32), 2 * X[:, 0] + 1

GOOD = """
import numpy as np
from torch import nn

x = np.linspace(-1.0, 1.0, 40)[:, None]
y = (x[:, 0] > 0).astype(int)

def task():
    return {"net": lambda: nn.Linear(1, 2), "train": (x, y), "test": (x, y), "batch": 5}
"""


def trained(task: DataTask, rate: float) -> dict[str, float]:
    net = task.net(0)
    optimiser = torch.optim.SGD(net.parameters(), lr=rate)
    for number in range(200):
        optimiser.zero_grad()
        task.losses(net, task.batches(np.arange(4), np.full(4, number), 8, seed=0)).mean().backward()
        optimiser.step()
    return task.evaluate(net)


def test_classes_have_cross_entropy_and_accuracy() -> None:
    task = task_of(net=lambda: nn.Linear(1, 2), train=(X, CLASSES), test=(X, CLASSES))
    assert task.target == Target("accuracy", 0.9, "least")
    assert task.target.reached(trained(task, 5.0))


def test_numbers_have_half_the_squared_error() -> None:
    arrived = Target("loss", 0.001, "most")
    task = task_of(net=lambda: nn.Linear(1, 1), train=(X, NUMBERS), test=(X, NUMBERS), target=arrived)
    net = task.net(0)
    for parameter in net.parameters():
        parameter.data.zero_()
    assert task.evaluate(net)["loss"] == pytest.approx(0.5 * (NUMBERS**2).mean(), rel=1e-5)
    assert task.target.reached(trained(task, 0.5))


def test_numbers_may_be_several_a_sample() -> None:
    many = np.stack((NUMBERS, -NUMBERS), -1)
    target = Target("loss", 0.1, "most")
    task = task_of(net=lambda: nn.Linear(1, 2), train=(X, many), test=(X, many), target=target)
    outputs = task.net(1)(task.data.inputs)
    expected = 0.5 * ((outputs - task.data.labels) ** 2).sum(-1)
    torch.testing.assert_close(task.losses(task.net(1), (task.data.inputs, task.data.labels)), expected)


def test_loss_and_figures_may_be_given() -> None:
    def absolute(outputs: Tensor, labels: Tensor) -> Tensor:
        return (outputs[:, 0] - labels).abs()

    def close(outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
        return {"close": (absolute(outputs, labels) < 0.5).float()}

    target = Target("close", 0.8, "least")
    data = (X, NUMBERS)
    task = task_of(
        net=lambda: nn.Linear(1, 1), train=data, test=data, loss=absolute, figures=close, target=target
    )
    assert set(task.evaluate(task.net(0))) == {"loss", "close"}
    assert task.target.reached(trained(task, 0.2))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"train": (X, CLASSES[:-1])},
            "train must have one label for every input.*\\(40, 1\\) and \\(39,\\)",
        ),
        ({"test": (X[:0], CLASSES[:0])}, "test must have one label for every input, at least one"),
        ({"test": X}, "test must be a pair of arrays"),
        ({"train": (["a"], ["b"])}, "train must be a pair of arrays"),
        ({"train": (X, NUMBERS), "test": (X, NUMBERS)}, "needs a target here: give target="),
        ({"loss": lambda o, y: ((o - 1) ** 2).mean()}, "needs a target here"),
        (
            {"loss": lambda o, y: o.mean(), "target": Target("loss", 1.0, "most")},
            "one number for each of 2 samples, but got \\(\\); use reduction='none'",
        ),
        ({"target": Target("f1", 0.9, "least")}, "figure 'f1' is not one of accuracy, loss"),
        ({"net": lambda: nn.Linear(3, 2)}, "the net and its loss failed on inputs \\(2, 1\\).*RuntimeError"),
        ({"net": nn.Linear(1, 2)}, "making the net failed: TypeError"),
        ({"net": lambda: nn.Identity()}, "no parameters to train"),
        ({"net": lambda: nn.Sequential(nn.Dropout(), nn.Linear(1, 2))}, "has dropout"),
        ({"device": "nowhere"}, "device 'nowhere' cannot be used"),
        ({"batch": 0}, "batch must be a whole number"),
    ],
)
def test_what_does_not_fit_is_told_at_once(changed: dict[str, object], told: str) -> None:
    given = {"net": lambda: nn.Linear(1, 2), "train": (X, CLASSES), "test": (X, CLASSES)}
    with pytest.raises(ParameterError, match=told) as caught:
        task_of(**{**given, **changed})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_file_gives_the_arguments_or_the_task(tmp_path: Path) -> None:
    path = tmp_path / "mytask.py"
    path.write_text(GOOD)
    task = names.task(f"own:file={path}")
    assert isinstance(task, DataTask)
    assert task.batch == 5
    path.write_text("from tailcut.learning.tasks.quadratic import Quadratic as task")
    assert own(file=str(path)).target.figure == "loss"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("x = ", "cannot be run: SyntaxError"),
        ("import no_such_module_anywhere", "cannot be run: ModuleNotFoundError: No module named"),
        ("x = 1", "has no function task\\(\\)"),
        ("task = 1", "has no function task\\(\\)"),
        ("def task(): return 1 / 0", "task\\(\\) failed with ZeroDivisionError: division by zero"),
        ("def task(): return 3", "must return a Task or a dictionary for task_of, but returned int"),
        ("def task(): return {'nets': 3}", "task\\(\\) failed with TypeError.*'nets'"),
        (GOOD.replace('(x, y), "test"', '(x, y[:3]), "test"'), "task\\(\\): train must have one label"),
    ],
)
def test_files_that_cannot_be_used_are_told(tmp_path: Path, source: str, told: str) -> None:
    path = tmp_path / "mytask.py"
    path.write_text(source)
    with pytest.raises(InputError, match=told) as caught:
        own(file=str(path))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="write own:file=PATH"):
        own()
    with pytest.raises(InputError, match="There is no file"):
        own(file=str(tmp_path / "none.py"))
    (tmp_path / "task.txt").write_text(GOOD)
    with pytest.raises(InputError, match=r"is no Python file\. Give it the ending \.py"):
        own(file=str(tmp_path / "task.txt"))
