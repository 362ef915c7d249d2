"""Natural order, integers written as text, and numbered nodes."""

from __future__ import annotations

import pytest

from tailcut.traces.names import integer_or_text, natural_order, number_nodes, problem_of


@pytest.mark.parametrize("text", ["0", "7", "-7", "10", str(2**63 - 1), str(-(2**63))])
def test_integers_in_their_usual_spelling_are_integers(text: str) -> None:
    assert integer_or_text(text) == int(text)


@pytest.mark.parametrize(
    "text", ["", "-0", "+7", "007", "1.0", "1e3", "0x1", " 1", "1_0", "٣", str(2**63), "9" * 50]
)
def test_other_spellings_stay_text(text: str) -> None:
    assert integer_or_text(text) == text


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["b", "a"], ["a", "b"]),
        ([10, 9, -1], [-1, 9, 10]),
        (["a", 5], [5, "a"]),
        (["w10", "w9", "w09", "w"], ["w", "w09", "w9", "w10"]),
        (["n2-g10", "n10-g1", "n2-g9"], ["n2-g9", "n2-g10", "n10-g1"]),
        (["1" + "0" * 9000, "9" * 9000], ["9" * 9000, "1" + "0" * 9000]),
        (["9a", "10", "a"], ["9a", "10", "a"]),
        ([], []),
    ],
)
def test_natural_order(names: list[str | int], ordered: list[str | int]) -> None:
    assert [names[i] for i in natural_order(names)] == ordered


def test_nodes_are_numbered_by_first_appearance() -> None:
    assert number_nodes(["z", "a", None, "z", -1, 3]).tolist() == [0, 1, -1, 0, -1, 2]
    assert number_nodes([0, 0, 1]).tolist() == [0, 0, 1]
    assert number_nodes([]).tolist() == []


@pytest.mark.parametrize("name", ["a", " ", "ü", 0, -1, 2**63 - 1])
def test_usable_names(name: str | int) -> None:
    assert problem_of(name) is None


@pytest.mark.parametrize("name", ["", "\0", "\udfff", 2**63])
def test_unusable_names(name: str | int) -> None:
    assert problem_of(name) is not None
