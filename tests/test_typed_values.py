"""Values of a file are those that a dataclass declares, or are refused in a few words that name the field."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest

from tailcut.typed_values import typed, whole_numbers


@dataclass(frozen=True)
class Inner:
    n: int


@dataclass(frozen=True)
class Outer:
    name: str
    seconds: float
    is_over: bool
    inner: Inner
    many: tuple[Inner, ...]
    by_name: dict[str, float]
    maybe: int | None = None


SOUND: dict[str, Any] = {
    "name": "a",
    "seconds": 2,
    "is_over": False,
    "inner": {"n": 1},
    "many": [{"n": 2}],
    "by_name": {"loss": 0.5},
}


def test_declared_values_are_built() -> None:
    found = typed(Outer, SOUND)
    assert found == Outer("a", 2.0, False, Inner(1), (Inner(2),), {"loss": 0.5}, None)
    assert type(found.seconds) is float


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("name", 3, "name must be a text, but is 3"),
        ("name", "x" * 200_000, "name must have at most 100,000 characters, but has 200,000"),
        ("seconds", True, "seconds must be a number, but is True"),
        ("seconds", math.nan, "seconds must be a finite number, but is nan"),
        ("seconds", 10**400, "seconds must be a number, but is 1000000000"),
        ("is_over", 1, "is_over must be true or false, but is 1"),
        ("inner", {"n": 0.5}, "n must be a whole number, but is 0.5"),
        ("inner", {"n": 1 << 63}, "n must be a whole number of at most 64 bits, but is 9223372036854775808"),
        ("inner", {"n": 1, "m": 2}, "inner has an unknown field 'm'"),
        ("inner", [], "inner is no JSON object"),
        ("many", {"n": 1}, "many must be a list, but is {'n': 1}"),
        ("many", [{}], r"many\[0\] has no n"),
        ("by_name", {"loss": "low"}, r"by_name\['loss'\] must be a number, but is 'low'"),
        ("maybe", "x", "maybe must be a whole number, but is 'x'"),
    ],
)
def test_any_other_value_is_named_with_its_field(field: str, value: Any, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}"):
        typed(Outer, {**SOUND, field: value})


def test_a_missing_value_is_named() -> None:
    with pytest.raises(ValueError, match=r"^it has no name$"):
        typed(Outer, {key: value for key, value in SOUND.items() if key != "name"})


def test_the_smallest_and_the_largest_of_many_whole_numbers_are_checked() -> None:
    assert whole_numbers("workers", [1, 3, 2]) == [1, 3, 2]
    with pytest.raises(ValueError, match="workers must be a whole number of at most 64 bits"):
        whole_numbers("workers", [1, -(1 << 70), 2])
