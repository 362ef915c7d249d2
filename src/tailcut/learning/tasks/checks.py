"""Checks of a task's parameters: each failure is one sentence with the rule, the value and the remedy."""

from __future__ import annotations

import math

import numpy as np
import torch

from tailcut.errors import ParameterError

MAX_BATCH = 1_000_000
"""Most samples in a mini-batch, for tasks that generate each sample."""


def require(ok: bool, rule: str, value: object, remedy: str) -> None:
    """Raise a `ParameterError` unless `ok`."""
    if not ok:
        raise ParameterError(f"{rule}, but got {value!r}; {remedy}.")


def whole(name: str, value: object, low: int = 1, high: int = 1 << 24) -> None:
    """Require a whole number from `low` to `high`."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    require(
        is_whole and low <= value <= high,  # type: ignore[operator]
        f"{name} must be a whole number from {low} to {high}",
        value,
        f"give {low} or more" if low > 1 else "give a number such as 8",
    )


def check_batch(batch: int, samples: int | None, name: str = "batch") -> None:
    """Refuse a mini-batch of less than 1 sample, or larger than the data or `MAX_BATCH`.

    Args:
        batch: samples in the mini-batch.
        samples: samples that training draws from; None where each sample is generated.
        name: name of the parameter, for the message.
    """
    if batch < 1:
        raise ParameterError(f"{name} must be at least 1 sample, but got {batch}. Try {name} 8.")
    if batch > (MAX_BATCH if samples is None else samples):
        there_are = "" if samples is None else " that the task has to train with"
        most = MAX_BATCH if samples is None else samples
        raise ParameterError(
            f"{name} must be at most the {most:,} samples{there_are}, but got {batch:,}. Try {name} 8."
        )


def positive(name: str, value: float) -> None:
    """Require a finite number > 0."""
    require(0 < value < math.inf, f"{name} must be > 0 and finite", value, "give a positive number")


def between(name: str, value: float, low: float, high: float) -> None:
    """Require a number from `low` to `high`."""
    rule = f"{name} must be between {low:g} and {high:g}"
    require(low <= value <= high, rule, value, f"give a number such as {(low + high) / 2:g}")


def on_device(name: str) -> None:
    """Require a device of this machine that torch can use."""
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        # torch raises AssertionError where it was built without CUDA.
        reason = str(error).splitlines()[0].rstrip(".")
        raise ParameterError(f"device {name!r} cannot be used ({reason}); write device=cpu.") from error
