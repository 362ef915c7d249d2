"""Commands answer any input file with one sentence, in bounded time and memory, without a traceback."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from tests.engines.records.recorded import record

from bounded_memory import little_memory
from conftest import Refused
from tailcut.table import Table

TABLE = Table.dense(np.random.default_rng(0).uniform(0.8, 1.3, size=(12, 3)))
ROOM = 1 << 29
"""Bytes that a command may set aside beyond those of this process."""
STUDY = 'tasks = ["logistic"]\nclusters = ["demo8"]\narms = ["wait-all"]\n'
DEEP, LONG = "[" * 100_000, "9" * 100_000

Make: TypeAlias = Callable[[Path], None]


def holding(text: str) -> Make:
    """Write a text over the file."""

    def write(path: Path) -> None:
        path.write_text(text)

    return write


def with_values(**values: Any) -> Make:
    """Change values in a file of JSON."""

    def change(path: Path) -> None:
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def in_the_worker(**values: Any) -> Make:
    """Change what `now.json` says of its first worker."""

    def change(path: Path) -> None:
        now = json.loads(path.read_text())
        now["workers"][0] |= values
        path.write_text(json.dumps(now))

    return change


def with_line(line: str) -> Make:
    """Add a line, in front of the last one: that may have been cut off."""

    def add(path: Path) -> None:
        *lines, last = path.read_text().splitlines()
        path.write_text("\n".join([*lines, line, last]) + "\n")

    return add


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (holding(DEEP), "nested too deeply"),
        (holding('{"a":' * 100_000), "nested too deeply"),
        (holding(f'{{"format": {LONG}}}'), "a number with thousands of digits"),
        (endless, "it is a device, not an ordinary file"),
        (pipe, "it is a named pipe, not an ordinary file"),
        (with_values(workers=1_000_000_000), "workers must be from 1 to 1,000,000, but is 1000000000"),
    ],
)
@pytest.mark.parametrize("command", [("watch", "run", "--once"), ("watch", "run"), ("compare", "run")])
def test_what_is_no_description_of_a_run(
    folder: Path, refused: Refused, command: tuple[str, ...], make: Make, why: str
) -> None:
    make(record(folder / "run", TABLE) / "run.json")
    with little_memory(ROOM):
        assert why in refused(*command)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (holding(DEEP), "nested too deeply"),
        (holding(f'{{"version": {LONG}}}'), "a number with thousands of digits"),
        (endless, "it is a device, not an ordinary file"),
        (pipe, "it is a named pipe, not an ordinary file"),
        (in_the_worker(worker=999_999_999), "worker 999999999 is none of the run's 3 workers"),
    ],
)
@pytest.mark.parametrize("options", [("--once",), ()], ids=["once", "again and again"])
def test_what_does_not_tell_how_a_run_stands(
    folder: Path, refused: Refused, options: tuple[str, ...], make: Make, why: str
) -> None:
    make(record(folder / "run", TABLE) / "now.json")
    with little_memory(ROOM):
        assert why in refused("watch", "run", *options)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (with_line(DEEP), "nested too deeply"),
        (with_line(f'{{"kind": "skipped", "version": {LONG}}}'), "a number with thousands of digits"),
        (
            with_line('{"kind": "settled", "version": 0, "worker": 7, "fate": "late", "seconds": 1.0}'),
            "worker 7 is none of the run's 3 workers",
        ),
        (endless, "it is a device, not an ordinary file"),
        (pipe, "it is a named pipe, not an ordinary file"),
    ],
)
def test_what_is_no_record(folder: Path, refused: Refused, make: Make, why: str) -> None:
    make(record(folder / "run", TABLE) / "rounds.jsonl")
    with little_memory(ROOM):
        assert why in refused("compare", "run")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (holding(f"a = {DEEP}"), "it is nested too deeply"),
        (holding(f"seeds = {LONG}\n{STUDY}"), "it has a number with thousands of digits"),
        (holding(f"{'a.' * 100_000}b = 1"), "dots: break it"),
        (endless, "it is a device, not an ordinary file"),
        (pipe, "it is a named pipe, not an ordinary file"),
    ],
)
def test_what_is_no_study(folder: Path, refused: Refused, make: Make, why: str) -> None:
    (folder / "one.toml").write_text(STUDY)
    make(folder / "one.toml")
    with little_memory(ROOM):
        assert why in refused("study", "one.toml")
