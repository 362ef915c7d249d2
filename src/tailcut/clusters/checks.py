"""Checks of parameters: each failure is one sentence with the rule, the value and the remedy."""

from __future__ import annotations

import math

import numpy as np

from tailcut.errors import ParameterError


def require(ok: bool, rule: str, value: object, remedy: str) -> None:
    """Raise a `ParameterError` unless `ok`."""
    if not ok:
        raise ParameterError(f"{rule}, but got {value!r}; {remedy}.")


def positive(name: str, value: float) -> None:
    """Require a finite number > 0."""
    require(0 < value < math.inf, f"{name} must be > 0 and finite", value, "give a positive number")


def at_least(name: str, value: float, low: float) -> None:
    """Require a finite number >= `low`."""
    require(low <= value < math.inf, f"{name} must be >= {low:g} and finite", value, f"give {low:g} or more")


def probability(name: str, value: float) -> None:
    """Require a number from 0 to 1."""
    require(0 <= value <= 1, f"{name} must be between 0 and 1", value, "give a probability such as 0.1")


def chance(name: str, value: float) -> None:
    """Require a probability > 0, of an event that must happen at some time."""
    require(0 < value <= 1, f"{name} must be > 0 and at most 1", value, "give a probability such as 0.1")


def whole(name: str, value: int, low: int) -> None:
    """Require a whole number >= `low`."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    require(
        is_whole and value >= low, f"{name} must be a whole number >= {low}", value, f"give {low} or more"
    )
