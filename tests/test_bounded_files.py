"""Reading a file ends within bounds, with a value or one sentence, whatever path and file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bounded_memory import little_memory
from tailcut.bounded_files import UnfitFileError, parse_json, read_bytes, read_json, read_lines


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def loop(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (pipe, "it is a named pipe, not an ordinary file"),
        (endless, "it is a device, not an ordinary file"),
        (Path.mkdir, "it is a folder"),
        (loop, "Too many levels of symbolic links"),
    ],
)
def test_what_is_no_ordinary_file_is_refused_at_once(
    make: Callable[[Path], None], why: str, tmp_path: Path
) -> None:
    path = tmp_path / "now.json"
    make(path)
    for read in (lambda: read_bytes(path, 10), lambda: read_json(path), lambda: list(read_lines(path))):
        with pytest.raises(OSError, match=re.escape(why)) as refused:
            read()
        assert refused.value.strerror == why


def test_a_file_may_have_as_many_bytes_as_are_allowed_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(UnfitFileError) as refused:
        read_bytes(path, 4)
    assert refused.value.strerror == "it has more than 4 bytes"


def test_a_file_that_tells_no_size_is_read_to_its_end() -> None:
    """Files of the system say that they have no bytes, and so does what grows after it was opened."""
    limits = Path("/proc/self/limits")
    assert limits.stat().st_size == 0
    assert b"Max open files" in read_bytes(limits, 1 << 20)
    with pytest.raises(UnfitFileError):
        read_bytes(limits, 100)


def test_a_small_file_takes_little_memory_whatever_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"round,worker,seconds\n")
    with little_memory(64 << 20):
        assert read_bytes(path, 4 << 30) == path.read_bytes()


def test_a_hole_of_terabytes_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with little_memory(64 << 20), pytest.raises(UnfitFileError):
        read_bytes(path, 4 << 30)


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    path.write_bytes(b"{}\n" + b"x" * 100)
    lines = read_lines(path, 50)
    assert next(lines) == "{}\n"
    with pytest.raises(UnfitFileError) as refused:
        next(lines)
    assert refused.value.strerror == "its line 2 has more than 50 bytes"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 100_000, "it is nested too deeply"),
        ('{"a":' * 100_000, "it is nested too deeply"),
        ("9" * 100_000, "it has a number with thousands of digits"),
        ('{"a": -' + "9" * 100_000 + "}", "it has a number with thousands of digits"),
    ],
)
def test_json_without_a_value_that_can_be_had(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}$"):
        parse_json(text)
