"""A user's own net and data set: one function, from Python or from a file on the command line."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.nn.modules.dropout import _DropoutNd

from tailcut.errors import InputError, ParameterError, TailcutError
from tailcut.learning.tasks.base import Target, Task
from tailcut.learning.tasks.checks import on_device
from tailcut.learning.tasks.data import Dataset, DataTask, Figures, SampleLoss, accuracy, class_loss
from tailcut.learning.tasks.shares import Shares

Samples: TypeAlias = tuple[Tensor | ArrayLike, Tensor | ArrayLike]
"""Inputs and labels, both with samples as the first dimension."""


def task_of(
    *,
    net: Callable[[], nn.Module],
    train: Samples,
    test: Samples,
    loss: SampleLoss | None = None,
    target: Target | None = None,
    figures: Figures | None = None,
    batch: int = 8,
    skew: float = 0.0,
    of: int = 1,
    device: str = "cpu",
) -> DataTask:
    """Make a task of a net and a data set.

    Whole-number labels are classes: cross-entropy, accuracy as a figure, and a target of 90 % of it unless given.
    Other labels are numbers to predict: half the squared error, and the `loss` to be reached must be given.

    Args:
        net: makes a net with new weights. Torch's generator is seeded before the call.
        train: inputs and labels to learn from.
        test: held-out inputs and labels.
        loss: outputs and labels to one loss for each sample, where the defaults do not fit.
        target: the target of a run.
        figures: outputs and labels to further values for each sample, whose means can be a target.
        batch: samples in a worker's mini-batch.
        skew: as in `Shares`; 1: each worker has labels of its own.
        of: workers that the data is split over.
        device: device to train on.

    Example:
        >>> x = torch.linspace(-1.0, 1.0, 40)[:, None]
        >>> y = (x[:, 0] > 0).long()
        >>> task_of(net=lambda: nn.Linear(1, 2), train=(x, y), test=(x, y)).target
        Target(figure='accuracy', value=0.9, at='least')
    """
    on_device(device)
    data = Dataset(*_samples("train", train), *_samples("test", test))
    classes = not data.labels.is_floating_point()
    if target is None:
        if not classes or loss is not None:
            raise ParameterError("task_of needs a target here: give target=Target('loss', 0.1, 'most'), say.")
        target = Target("accuracy", 0.9, "least")
    if figures is None:
        figures = accuracy if classes and loss is None else _no_figures
    if loss is None:
        loss = class_loss if classes else squared_error
    shares = Shares(skew, of)
    task = DataTask(data.sorted().to(device), net, target, batch, loss, figures, shares)
    _try_out(task)
    return task


def squared_error(outputs: Tensor, labels: Tensor) -> Tensor:
    """Half the squared distance of each sample's outputs from its labels."""
    errors = 0.5 * mse_loss(outputs.reshape(labels.shape), labels, reduction="none")
    return errors.flatten(1).sum(-1) if errors.dim() > 1 else errors


def _no_figures(outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
    del outputs, labels
    return {}


def _samples(what: str, samples: Samples) -> tuple[Tensor, Tensor]:
    """Return inputs and labels as tensors; both must have the same positive number of samples."""
    try:
        inputs, labels = (
            part if isinstance(part, Tensor) else torch.from_numpy(np.array(part)) for part in samples
        )
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{what} must be a pair of arrays, inputs and labels ({error}).") from error
    if inputs.dim() == 0 or labels.dim() == 0 or len(inputs) != len(labels) or len(inputs) == 0:
        shapes = f"{tuple(inputs.shape)} and {tuple(labels.shape)}"
        raise ParameterError(
            f"{what} must have one label for every input, at least one, but the shapes are {shapes}."
        )
    # NumPy's floats are double precision, a net's are single precision.
    inputs, labels = (part.float() if part.dtype == torch.float64 else part for part in (inputs, labels))
    return inputs, labels if labels.is_floating_point() else labels.long()


def _try_out(task: DataTask) -> None:
    """Run the net once on two samples, so that a mismatch is reported at once in a sentence."""
    net = _made(task)
    rows = slice(min(2, len(task.data.labels)))
    inputs, labels = task.data.inputs[rows], task.data.labels[rows]
    try:
        with torch.no_grad():
            losses = task.losses(net, (inputs, labels))
            figures = {"loss", *task.figures(net(inputs), labels)}
    except Exception as error:
        shapes = f"inputs {tuple(inputs.shape)} and labels {tuple(labels.shape)}"
        raise ParameterError(f"the net and its loss failed on {shapes}: {_brief(error)}.") from error
    if not isinstance(losses, Tensor) or losses.shape != (len(labels),):
        got = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
        raise ParameterError(
            f"loss must give one number for each of {len(labels)} samples, but got {got}; use reduction='none'."
        )
    if task.goal.figure not in figures:
        known = ", ".join(sorted(figures))
        raise ParameterError(
            f"the target's figure {task.goal.figure!r} is not one of {known}; give figures=… for it."
        )


def _made(task: DataTask) -> nn.Module:
    try:
        net = task.net(0)
    except Exception as error:
        raise ParameterError(f"making the net failed: {_brief(error)}.") from error
    if not any(parameter.requires_grad for parameter in net.parameters()):
        raise ParameterError("the net has no parameters to train; give a function that makes one with some.")
    for part in net.modules():
        if isinstance(part, _DropoutNd) and part.p > 0:
            raise ParameterError(
                "the net has dropout, which no seed of a run reaches; leave it out or set p=0."
            )
    return net


def own(*, file: str = "") -> Task:
    """A task of your own (file=mytask.py): its function task() returns a Task or the arguments of task_of.

    The file is run as any program is: name only files you trust.
    """
    if not file:
        raise InputError(
            "The task own needs a Python file whose function task() returns it: write own:file=PATH."
        )
    path = Path(file).expanduser()
    make = getattr(_loaded(path), "task", None)
    if not callable(make):
        raise InputError(
            f"{path} has no function task(). Add one that returns a Task or the arguments of task_of."
        )
    try:
        made = make()
        task = task_of(**made) if isinstance(made, Mapping) else made
    except TailcutError as error:
        raise InputError(f"{path}, task(): {error}") from error
    except Exception as error:
        raise InputError(f"{path}: task() failed with {_brief(error)}. Correct it there.") from error
    if not isinstance(task, Task):
        what = type(task).__name__
        raise InputError(
            f"{path}: task() must return a Task or a dictionary for task_of, but returned {what}."
        )
    return task


def _loaded(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"There is no file {path}. Name a Python file with a function task().")
    spec = importlib.util.spec_from_file_location("tailcut_own_task", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is no Python file. Give it the ending .py.")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path} cannot be run: {_brief(error)}. Correct it there.") from error
    return module


def _brief(error: Exception) -> str:
    """Return the type of an error and the first line of its message."""
    first = (str(error).splitlines() or [""])[0].strip().rstrip(".")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
