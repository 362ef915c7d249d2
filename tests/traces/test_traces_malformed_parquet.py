"""Every malformed Parquet file is refused by one sentence with file, place, value and remedy."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailcut.errors import TableError
from tailcut.traces import read_table

Columns = dict[str, Any]


def _columns(**changes: Any) -> Columns:
    good = {"round": [0, 0, 1, 1], "worker": ["a", "b", "a", "b"], "seconds": [1.0, 2.0, 3.0, 4.0]}
    return good | changes


def _without(name: str) -> Columns:
    return {key: column for key, column in _columns().items() if key != name}


MALFORMED: dict[str, tuple[Columns, list[str]]] = {
    "no seconds": (_without("seconds"), ["'seconds'", "'round', 'worker'"]),
    "no columns": ({}, ["'round'", "no columns"]),
    "no rows": ({name: pa.array(c[:0], pa.array(c).type) for name, c in _columns().items()}, ["no rows"]),
    "text seconds": (_columns(seconds=["1", "2", "3", "4"]), ["'seconds'", "numbers", "string"]),
    "bool seconds": (_columns(seconds=[True] * 4), ["'seconds'", "numbers", "bool"]),
    "list seconds": (_columns(seconds=[[1.0]] * 4), ["'seconds'", "numbers", "list"]),
    "struct worker": (_columns(worker=[{"a\nb": 1}] * 4), ["'worker'", "text or integers", "struct"]),
    "bytes worker": (_columns(worker=[b"a", b"b"] * 2), ["'worker'", "text or integers", "binary"]),
    "bool worker": (_columns(worker=[True, False] * 2), ["'worker'", "text or integers", "bool"]),
    "duration seconds": (_columns(seconds=pa.array([1] * 4, pa.duration("s"))), ["'seconds'", "duration"]),
    "text round": (_columns(round=["0", "0", "1", "1"]), ["'round'", "integers", "string"]),
    "bool round": (_columns(round=[False, False, True, True]), ["'round'", "integers", "bool"]),
    "round with fraction": (_columns(round=[0.0, 0.0, 1.5, 1.0]), ["row 3", "'round'", "1.5"]),
    "NaN round": (_columns(round=[0.0, 0.0, 1.0, float("nan")]), ["row 4", "'round'", "nan"]),
    "round too large": (_columns(round=pa.array([0, 0, 2**63, 1], pa.uint64())), ["row 3", str(2**63)]),
    "worker with fraction": (_columns(worker=[0.0, 0.5, 0.0, 0.5]), ["row 2", "'worker'", "0.5"]),
    "null round": (_columns(round=[0, None, 1, 1]), ["row 2", "'round'", "missing"]),
    "null worker": (_columns(worker=["a", "b", None, "b"]), ["row 3", "'worker'", "missing"]),
    "empty worker": (_columns(worker=["a", "b", "", "b"]), ["row 3", "'worker'", "missing"]),
    "null seconds": (_columns(seconds=[1.0, 2.0, 3.0, None]), ["row 4", "'seconds'", "missing"]),
    "all null": (_columns(seconds=pa.nulls(4)), ["row 1", "'seconds'", "missing"]),
    "null observed": (_columns(observed=[True, None, True, True]), ["row 2", "'observed'", "missing"]),
    "observed as number": (_columns(observed=[1, 0, 1, 1]), ["'observed'", "true and false", "int64"]),
    "nothing observed": (_columns(observed=[False] * 4), ["'observed'", "no run time"]),
    "zero": (_columns(seconds=[1, 0, 3, 4]), ["row 2", "'seconds'", "0.0"]),
    "negative": (_columns(seconds=[1, 2, 3, Decimal("-4.5")]), ["row 4", "'seconds'", "-4.5"]),
    "NaN": (_columns(seconds=[1, 2, 3, float("nan")]), ["row 4", "'seconds'", "nan"]),
    "inf": (_columns(seconds=[1, float("inf"), 3, 4]), ["row 2", "'seconds'", "inf"]),
    "cell twice": (_columns(round=[5, 5, 5, 6]), ["row 3", "row 1", "round 5", "'a'"]),
    "one worker": (_columns(worker=[7] * 4, round=[0, 1, 2, 3]), ["2 workers", "7"]),
    "two nodes": (_columns(node=["m", "n", "m", "m"]), ["row 4", "row 2", "'node'", "'m'", "'n'"]),
    "node left out once": (_columns(node=[3, 4, None, 4]), ["row 3", "row 1", "'node'", "3"]),
    "list node": (_columns(node=[[1]] * 4), ["'node'", "text or integers"]),
}


def refusal(path: Path) -> str:
    with pytest.raises(TableError) as caught:
        read_table(path)
    message = str(caught.value)
    assert path.name in message
    assert "Remedy: " in message
    assert len(message.splitlines()) == 1
    return message


@pytest.mark.parametrize("case", MALFORMED)
def test_parquet_is_refused(case: str, tmp_path: Path) -> None:
    columns, expected = MALFORMED[case]
    path = tmp_path / "bad.parquet"
    pq.write_table(pa.table(columns), path)
    message = refusal(path)
    assert all(part in message for part in expected), message


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    one = pa.array([1, 2])
    pq.write_table(pa.Table.from_arrays([one] * 4, ["round", "worker", "seconds", "seconds"]), path)
    message = refusal(path)
    assert "'seconds'" in message
    assert "2 times" in message


@pytest.fixture
def sound(tmp_path: Path) -> bytes:
    path = tmp_path / "sound.parquet"
    pq.write_table(pa.table(_columns()), path)
    return path.read_bytes()


@pytest.mark.parametrize("keep", [0.01, 0.3, 0.6, 0.9, 0.99])
def test_a_truncated_file_is_refused(keep: float, sound: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut.parquet"
    path.write_bytes(sound[: int(len(sound) * keep)])
    assert "Parquet" in refusal(path)


@pytest.mark.parametrize(
    "content", [b"round,worker,seconds\n0,a,1\n0,b,1\n", b"PAR1", b"PAR1" * 2, b"\0" * 99]
)
def test_what_is_no_parquet_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "false.parquet"
    path.write_bytes(content)
    assert "Parquet" in refusal(path)


def test_parts_of_the_path_are_not_taken_for_columns(tmp_path: Path) -> None:
    folder = tmp_path / "seconds=3"
    folder.mkdir()
    path = folder / "t.parquet"
    pq.write_table(pa.table(_without("seconds")), path)
    assert "'seconds'" in refusal(path)
