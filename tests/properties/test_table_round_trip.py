"""A table that was written is read back the same, and a damaged file is refused or read, never worse."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tailcut.errors import TableError
from tailcut.table import Table
from tailcut.traces import read_table, write_table
from tailcut.traces.names import integer_or_text, natural_order, number_nodes
from tailcut.traces.write import WRITERS

SECONDS = st.floats(min_value=0, exclude_min=True, allow_infinity=False, allow_nan=False)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
PLAIN_TEXTS = TEXTS.filter(lambda text: text == text.strip() and isinstance(integer_or_text(text), str))


@st.composite
def tables(draw: st.DrawFn, names: st.SearchStrategy[Any], whole: bool) -> Table:
    """Tables in the order long formats keep; `whole`: no round and no worker without any entry."""
    chosen = draw(st.lists(names, min_size=2, max_size=6, unique=True))
    chosen = [chosen[i] for i in natural_order(chosen)]
    shape = (draw(st.integers(1, 5)), len(chosen))
    seconds = draw(npst.arrays(np.float64, shape, elements=SECONDS))
    present = draw(npst.arrays(np.bool_, shape))
    observed = draw(npst.arrays(np.bool_, shape))
    if whole:
        present[:, 0] = True
        present[0] = True
    present[0, 0] = observed[0, 0] = True
    nodes = draw(st.lists(st.integers(-1, 3), min_size=shape[1], max_size=shape[1]))
    return Table(
        np.where(present, seconds, np.nan), observed & present, tuple(chosen), number_nodes(nodes), "drawn"
    )


def back(table: Table, ending: str) -> Table:
    """`table`, written and read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        write_table(table, path)
        return read_table(path)


def assert_same(one: Table, other: Table) -> None:
    """Equal to the last bit."""
    np.testing.assert_array_equal(one.seconds.view(np.int64), other.seconds.view(np.int64))
    np.testing.assert_array_equal(one.observed, other.observed)
    np.testing.assert_array_equal(one.nodes, other.nodes)
    assert one.names == other.names
    assert list(map(type, one.names)) == list(map(type, other.names))


@given(tables(INTEGERS | PLAIN_TEXTS, whole=True), st.sampled_from(list(WRITERS)))
@settings(deadline=None, max_examples=120)
def test_every_format_gives_the_table_back(table: Table, ending: str) -> None:
    assert_same(back(table, ending), table)


@given(tables(TEXTS, whole=True), st.sampled_from([".parquet", ".jsonl", ".npz"]))
@settings(deadline=None)
def test_typed_formats_keep_any_text(table: Table, ending: str) -> None:
    assert_same(back(table, ending), table)


@given(tables(INTEGERS | TEXTS, whole=False))
@settings(deadline=None)
def test_dense_keeps_empty_rounds_any_name_and_any_order(table: Table) -> None:
    flipped = replace(table, names=table.names[::-1])
    assert_same(back(flipped, ".npz"), flipped)


@given(tables(INTEGERS | TEXTS, whole=False), st.sampled_from(list(WRITERS)))
@settings(deadline=None, max_examples=120)
def test_what_is_not_refused_comes_back_the_same(table: Table, ending: str) -> None:
    try:
        same = back(table, ending)
    except TableError:
        return
    assert_same(same, table)


@given(tables(INTEGERS | PLAIN_TEXTS, whole=True), st.permutations(range(6)), st.sampled_from(list(WRITERS)))
@settings(deadline=None)
def test_relabelling_workers_relabels_the_table(table: Table, order: list[int], ending: str) -> None:
    kept = np.array([i for i in order if i < table.workers])
    names = tuple(table.names[i] for i in kept)
    moved = Table(table.seconds[:, kept], table.observed[:, kept], names, table.nodes[kept])
    result = back(moved, ending)
    assert set(result.names) == set(table.names)
    for column, name in enumerate(result.names):
        before = table.names.index(name)
        np.testing.assert_array_equal(result.seconds[:, column], table.seconds[:, before])
        same_node = result.nodes == result.nodes[column]
        partners = {result.names[i] for i in np.flatnonzero(same_node)}
        assert partners == {table.names[i] for i in np.flatnonzero(table.nodes == table.nodes[before])}


@pytest.fixture(scope="module")
def sound() -> dict[str, bytes]:
    """The bytes of one sound file of each format."""
    seconds = np.array([[0.25, 1.5, np.nan], [1 / 3, 2.0, 7e-5]])
    table = Table(seconds, seconds < 1.9, (0, "b", "c\nd"), np.array([0, 0, -1]))
    with tempfile.TemporaryDirectory() as folder:
        for ending in WRITERS:
            write_table(table, Path(folder) / f"table{ending}")
        return {path.suffix: path.read_bytes() for path in Path(folder).iterdir()}


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_a_damaged_file_is_refused_or_read(sound: dict[str, bytes], data: st.DataObject) -> None:
    ending = data.draw(st.sampled_from(sorted(sound)))
    content = bytearray(sound[ending])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 8)))
        content[start:end] = data.draw(st.binary(max_size=8))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"damaged{ending}"
        path.write_bytes(content)
        outcome = read_or_refusal(path)
    if isinstance(outcome, Table):
        assert outcome.workers >= 2
        assert (outcome.seconds[outcome.observed] > 0).all()
    else:
        assert "Remedy: " in outcome
        assert len(outcome.splitlines()) == 1


def read_or_refusal(path: Path) -> Table | str:
    """The table, or the sentence that says why there is none."""
    try:
        return read_table(path)
    except TableError as error:
        return str(error)
