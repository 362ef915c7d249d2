"""The named tasks of studies and of the command line."""

from __future__ import annotations

from collections.abc import Callable

from tailcut.learning.tasks.base import Task
from tailcut.learning.tasks.cartpole import Cartpole
from tailcut.learning.tasks.cifar10 import cifar10
from tailcut.learning.tasks.digits import digits
from tailcut.learning.tasks.logistic import Logistic
from tailcut.learning.tasks.mnist import mnist
from tailcut.learning.tasks.own import own
from tailcut.learning.tasks.quadratic import Quadratic
from tailcut.learning.tasks.text import text
from tailcut.learning.tasks.uneven import Uneven

TASKS: dict[str, Callable[..., Task]] = {
    "digits": digits,
    "quadratic": Quadratic,
    "logistic": Logistic,
    "mnist": mnist,
    "cifar10": cifar10,
    "text": text,
    "cartpole": Cartpole,
    "uneven": Uneven,
    "own": own,
}
"""Tasks by name; parameters are keywords with defaults, and the docstring's first line describes the task."""


def about(name: str) -> str:
    """Return the description of a task in one line.

    Example:
        >>> about("digits").split(",")[0]
        'Hand-written digits'
    """
    return (TASKS[name].__doc__ or "").strip().splitlines()[0].rstrip(".")
