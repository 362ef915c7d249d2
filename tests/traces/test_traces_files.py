"""Paths that lead to no table: missing, folders, unreadable, unknown endings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailcut.errors import TableError
from tailcut.traces import read_table
from tailcut.traces.read import READERS


def refusal(path: str | Path) -> str:
    with pytest.raises(TableError) as caught:
        read_table(path)
    message = str(caught.value)
    assert "Remedy: " in message
    assert len(message.splitlines()) == 1
    return message


@pytest.mark.parametrize("ending", READERS)
def test_a_missing_file_is_refused(ending: str, tmp_path: Path) -> None:
    message = refusal(tmp_path / f"gone{ending}")
    assert f"gone{ending}" in message
    assert "no such file" in message


@pytest.mark.parametrize("ending", READERS)
def test_a_folder_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"folder{ending}"
    path.mkdir()
    assert "folder" in refusal(path)


@pytest.mark.parametrize("ending", READERS)
def test_an_empty_file_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"empty{ending}"
    path.touch()
    assert "is empty" in refusal(path)


@pytest.mark.parametrize("ending", READERS)
def test_a_link_to_itself_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"loop{ending}"
    path.symlink_to(path)
    assert "cannot be read" in refusal(path)


def test_a_file_in_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be read" in refusal(tmp_path / "file" / "t.csv")


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    assert "ordinary file" in refusal(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("ending", READERS)
def test_a_file_without_permission_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"locked{ending}"
    path.write_bytes(b"x")
    path.chmod(0)
    assert "cannot be read" in refusal(path)


@pytest.mark.parametrize("ending", READERS)
def test_a_disk_that_fails_is_reported(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"locked{ending}"
    path.write_bytes(b"x")

    def fail(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", fail)
    message = refusal(path)
    assert f"locked{ending}" in message
    assert "cannot be read (Permission denied)" in message


@pytest.mark.parametrize("name", ["table.txt", "table", "table.csv.gz", "table.xlsx", ".csv"])
def test_an_unknown_ending_lists_the_known_ones(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("round,worker,seconds\n0,a,1\n0,b,1\n")
    message = refusal(tmp_path / name)
    assert ".csv, .parquet, .jsonl, .ndjson, .npz" in message


@pytest.mark.parametrize("name", ["", "a\0b.csv", "a\nb.csv", "x" * 300 + ".csv"])
def test_odd_paths_are_refused(name: str) -> None:
    refusal(name)


def test_plain_text_paths_and_capital_endings_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "STEPS.CSV"
    path.write_text("round,worker,seconds\n0,a,1\n0,b,1\n")
    assert read_table(str(path)).names == ("a", "b")
