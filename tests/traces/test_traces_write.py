"""Writing: whole or not at all, and only what can be read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tailcut.errors import TableError
from tailcut.table import Table
from tailcut.traces import read_table, write_table
from tailcut.traces.read import READERS
from tailcut.traces.write import WRITERS

SMALL = Table.dense(np.array([[0.1, 0.2], [0.3, 0.4]]))
LARGER = Table.dense(np.arange(1.0, 61.0).reshape(20, 3))
LONG = [ending for ending in WRITERS if ending != ".npz"]


def refusal(table: Table, path: Path) -> str:
    with pytest.raises(TableError) as caught:
        write_table(table, path)
    message = str(caught.value)
    assert path.name in message
    assert "Remedy: " in message
    assert len(message.splitlines()) == 1
    return message


@pytest.mark.parametrize("ending", WRITERS)
def test_a_file_is_replaced(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{ending}"
    write_table(LARGER, path)
    write_table(SMALL, str(path))
    np.testing.assert_array_equal(read_table(path).seconds, SMALL.seconds)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize(
    "failure", [OSError(28, "No space left on device"), KeyboardInterrupt(), TypeError("x")]
)
def test_a_failing_write_leaves_the_old_file_and_nothing_else(
    ending: str, failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"t{ending}"
    write_table(SMALL, path)
    before = path.read_bytes()
    honest = WRITERS[ending]

    def fail_at_the_end(table: Table, file: object, source: str) -> None:
        honest(table, file, source)  # type: ignore[arg-type]
        raise failure

    monkeypatch.setitem(WRITERS, ending, fail_at_the_end)
    expected = TableError if isinstance(failure, OSError) else type(failure)
    with pytest.raises(expected):
        write_table(LARGER, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_failing_rename_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    write_table(SMALL, path)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "replace", fail)
    assert "cannot be written" in refusal(LARGER, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_refused_table_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write_table(SMALL, path)
    before = path.read_bytes()
    refusal(replace(SMALL, names=(" a", "b")), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_and_the_permissions_are_kept(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    write_table(SMALL, target)
    target.chmod(0o640)
    link.symlink_to(target)
    write_table(LARGER, link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert read_table(target).rounds == LARGER.rounds


def test_a_new_file_has_ordinary_permissions(tmp_path: Path) -> None:
    write_table(SMALL, tmp_path / "t.csv")
    (tmp_path / "plain").touch()
    assert (tmp_path / "t.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("ending", WRITERS)
def test_a_name_as_long_as_the_system_allows_can_be_written(ending: str, tmp_path: Path) -> None:
    write_table(SMALL, tmp_path / ("x" * (255 - len(ending)) + ending))


@pytest.mark.parametrize("ending", WRITERS)
def test_the_same_table_gives_the_same_bytes(ending: str, tmp_path: Path) -> None:
    first, second = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    write_table(LARGER, first)
    write_table(LARGER, second)
    assert first.read_bytes() == second.read_bytes()


PATHS: dict[str, Callable[[Path], Path]] = {
    "no such folder": lambda folder: folder / "no" / "t.csv",
    "a folder": lambda folder: folder,
    "in a file": lambda folder: folder.parent / "file" / "t.csv",
}


@pytest.mark.parametrize("case", PATHS)
def test_paths_that_cannot_be_written(case: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    (tmp_path / "file").touch()
    assert "cannot be written" in refusal(SMALL, PATHS[case](folder))
    assert not list(folder.iterdir())


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    assert ".parquet" in refusal(SMALL, tmp_path / "t.xlsx")
    assert not list(tmp_path.iterdir())


def _seconds(value: float) -> Table:
    seconds = SMALL.seconds.copy()
    seconds[1, 0] = value
    return replace(SMALL, seconds=seconds)


UNREADABLE = {
    "negative": (_seconds(-1), ["round 1, worker 0", "-1.0"]),
    "zero": (_seconds(0), ["round 1, worker 0", "0.0"]),
    "infinite": (_seconds(np.inf), ["round 1, worker 0", "inf"]),
    "one worker": (Table.dense(np.ones((3, 1))), ["2 workers"]),
    "no rounds": (Table.dense(np.ones((0, 2))), ["no run times"]),
    "no workers": (Table.dense(np.ones((2, 0))), ["no run times"]),
    "nothing observed": (replace(SMALL, observed=np.zeros((2, 2), bool)), ["no run time is observed"]),
    "name twice": (replace(SMALL, names=("a", "a")), ["must differ", "'a'"]),
    "empty name": (replace(SMALL, names=("a", "")), ["empty"]),
    "large name": (replace(SMALL, names=(0, 2**63)), ["64 bits", str(2**63)]),
    "NUL": (replace(SMALL, names=("a", "b\0")), ["NUL"]),
    "half a character": (replace(SMALL, names=("a", "\ud800")), ["Unicode"]),
}


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("case", UNREADABLE)
def test_what_could_not_be_read_back_is_not_written(case: str, ending: str, tmp_path: Path) -> None:
    table, expected = UNREADABLE[case]
    message = refusal(table, tmp_path / f"t{ending}")
    assert all(part in message for part in expected), message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", LONG)
def test_long_formats_refuse_a_round_or_worker_without_any_entry(ending: str, tmp_path: Path) -> None:
    gap = np.array([[0.1, 0.2, 0.3], [np.nan] * 3])
    assert "round 1" in refusal(Table.dense(gap), tmp_path / f"t{ending}")
    message = refusal(
        replace(Table.dense(gap[:1].repeat(2, 0)), seconds=_absent_worker()), tmp_path / f"t{ending}"
    )
    assert ".npz" in message
    assert "got 1" in message


def _absent_worker() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array([[0.1, np.nan, 0.3], [0.4, np.nan, 0.6]])


def test_dense_keeps_a_round_and_a_worker_without_any_entry(tmp_path: Path) -> None:
    table = Table.dense(np.array([[0.1, np.nan, 0.3], [np.nan] * 3]))
    write_table(table, tmp_path / "t.npz")
    np.testing.assert_array_equal(read_table(tmp_path / "t.npz").seconds, table.seconds)


AMBIGUOUS = {
    "text of digits in CSV": (("3", "b"), ".csv", "integer"),
    "spaces in CSV": ((" a", "b"), ".csv", "spaces"),
    "text of digits beside integers in Parquet": (("3", 4), ".parquet", "integer"),
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_names_a_format_would_change_are_refused(case: str, tmp_path: Path) -> None:
    names, ending, word = AMBIGUOUS[case]
    message = refusal(replace(SMALL, names=names), tmp_path / f"t{ending}")
    assert word in message
    assert ".jsonl" in message


def test_optional_columns_are_written_only_where_they_say_something(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(SMALL, path)
    assert pq.ParquetFile(path).schema_arrow.names == ["round", "worker", "seconds"]
    observed = np.array([[True, False], [True, True]])
    write_table(replace(SMALL, observed=observed, nodes=np.array([0, -1])), path)
    assert pq.ParquetFile(path).schema_arrow.names == ["round", "worker", "seconds", "observed", "node"]


def test_csv_is_what_one_expects(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    seconds = np.array([[0.1, np.nan], [1 / 3, 20]])
    observed = np.array([[True, False], [False, True]])
    write_table(Table(seconds, observed, (0, "ps"), np.array([-1, 4])), path)
    lines = path.read_text().replace('"', "").splitlines()
    assert lines == [
        "round,worker,seconds,observed,node",
        "0,0,0.1,true,",
        "1,0,0.3333333333333333,false,",
        "1,ps,20,true,4",
    ]


def test_every_ending_can_be_read_and_written() -> None:
    assert list(READERS) == list(WRITERS)
