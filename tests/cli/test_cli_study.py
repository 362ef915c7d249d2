"""`tailcut study` as people use it: carried out, broken off, taken up again, refused."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from conftest import HEARING
from tailcut.study.grid.journal import Writer, read_journal
from waiting import limit

Cli: TypeAlias = Callable[..., Any]
Refused: TypeAlias = Callable[..., str]

SMALL = """
tasks = ["logistic"]
clusters = ["demo8"]
seeds = 2
rounds = 15
rates = [0.2, 0.5]

[[arms]]
policy = "wait-all"

[[arms]]
policy = "backup:c=6"
"""
# Forty runs: time enough to break it off in the midst. One rate needs no tuning, for which processes would start.
LONG = (
    SMALL.replace("seeds = 2", "seeds = 20").replace("rounds = 15", "rounds = 60").replace("0.2, 0.5", "0.5")
)


def test_a_study_is_carried_out_and_reported(folder: Path, cli: Cli) -> None:
    (folder / "small.toml").write_text(SMALL)
    ended = cli("study", "small.toml", "--processes", "1")
    assert (ended.code, ended.out) == (0, "")
    assert "4 runs in " in ended.err
    assert "tailcut report out/small" in ended.err
    assert len(list((folder / "out/small").glob("runs/**/*.jsonl"))) == 4
    assert (folder / "out/small/study.toml").read_text() == SMALL
    again = cli("study", "small.toml", "--processes", "1", "-o", "out/small")
    assert again.code == 0
    rows = json.loads(cli("report", "out/small", "--json").out)
    assert {row["arm"] for row in rows} == {"wait-all", "backup:c=6"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"logistic"', '"logistics"', "Unknown task 'logistics'. Did you mean 'logistic'?"),
        ('"backup:c=6"', '"backup:c=60"', "demo8 has only 8 workers"),
        ("seeds = 2", "seeds = 0", "seeds must be 1 or more"),
        ("tasks", "taks", "no setting 'taks'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    folder: Path, refused: Refused, old: str, new: str, said: str
) -> None:
    (folder / "small.toml").write_text(SMALL.replace(old, new))
    assert said in refused("study", "small.toml")
    assert not (folder / "out").exists()


def test_a_folder_of_another_study_is_refused(folder: Path, cli: Cli) -> None:
    (folder / "small.toml").write_text(SMALL)
    assert cli("study", "small.toml", "--processes", "1", "-o", "there").code == 0
    (folder / "other.toml").write_text(SMALL.replace("rounds = 15", "rounds = 16"))
    ended = cli("study", "other.toml", "-o", "there")
    assert ended.code == 2
    assert "holds another study" in ended.err


def test_a_full_disk_is_a_sentence_and_keeps_what_has_ended(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "small.toml").write_text(SMALL)
    written = 0
    line = Writer._line

    def full(self: Writer, values: dict[str, Any]) -> None:
        nonlocal written
        written += values["kind"] == "head"
        if written > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "runs/3.jsonl")
        line(self, values)

    monkeypatch.setattr(Writer, "_line", full)
    ended = cli("study", "small.toml", "--processes", "1", "-o", "full")
    assert ended.code == 2
    assert "runs/3.jsonl cannot be written: No space left on device" in ended.err
    monkeypatch.setattr(Writer, "_line", line)
    before = {
        path: path.read_text() for path in (folder / "full").glob("runs/**/*.jsonl") if path.stat().st_size
    }
    assert cli("study", "small.toml", "--processes", "1", "-o", "full").code == 0
    assert all(path.read_text() == text for path, text in before.items())


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_loses_the_unfinished_runs_alone(folder: Path) -> None:
    (folder / "long.toml").write_text(LONG)
    process = subprocess.Popen(
        [*HEARING, "study", "long.toml", "-o", "long", "--processes", "2"], stderr=subprocess.PIPE, text=True
    )
    try:
        until = time.monotonic() + limit(100.0)
        while time.monotonic() < until and len(ended(folder / "long")) < 3:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=limit(60.0))
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "Interrupted. What has ended is kept in long" in said
    assert "Traceback" not in said
    kept = ended(folder / "long")
    assert 3 <= len(kept) < 40


def ended(folder: Path) -> list[Path]:
    """Journals of runs that have ended."""
    found = []
    for path in folder.glob("runs/**/*.jsonl"):
        if (
            path.read_text().rpartition("\n{")[2].startswith('"kind": "end"')
            and read_journal(path).end is not None
        ):
            found.append(path)
    return found
