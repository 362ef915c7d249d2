"""Lines of a record that later lines take back, compared with a computation line by line."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tailcut.engines.records.changes import changes_in

LINES = st.lists(
    st.tuples(st.sampled_from(["round", "settled", "back", "skipped"]), st.integers(0, 5)), max_size=30
)


def one_by_one(lines: list[tuple[str, int]]) -> list[tuple[int, bool]]:
    """Numbers of lines that stand at the end, and whether their gradients were lost."""
    standing: list[tuple[int, bool]] = []
    for number, (kind, version) in enumerate(lines, 1):
        if kind == "back":
            standing = [each for each in standing if lines[each[0] - 1][1] < version]
        elif kind == "skipped":
            standing = [(at, lost or lines[at - 1] == ("round", version)) for at, lost in standing]
        else:
            standing.append((number, False))
    return standing


@given(LINES)
def test_what_stands_is_what_stands_in_the_end(lines: list[tuple[str, int]]) -> None:
    changes = changes_in(json.dumps({"kind": kind, "version": version}) for kind, version in lines)
    assert changes.lines == len(lines)
    found = [
        (number, kind == "round" and changes.is_lost(number, version))
        for number, (kind, version) in enumerate(lines, 1)
        if kind in ("round", "settled") and changes.stands(number, version)
    ]
    assert found == one_by_one(lines)


def test_what_is_damaged_is_passed_over() -> None:
    changes = changes_in(
        ['{"kind": "back"', '"back"', '{"kind": "back"}', '{"kind": "skipped", "version": 2}']
    )
    assert (changes.lines, changes.returns, changes.skips) == (4, [], [(4, 2)])
