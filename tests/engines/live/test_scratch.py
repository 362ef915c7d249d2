"""Folders of processes that were killed are removed by the next one; nothing else is."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tailcut.engines.live.scratch import LOCK, PREFIX, scratch_folder

HOLDS = (
    "import time; from tailcut.engines.live.scratch import scratch_folder\n"
    "with scratch_folder() as folder: print(folder, flush=True); time.sleep(600)"
)


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which temporary folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_what_a_killed_process_leaves_is_removed_by_the_next_and_what_is_in_use_is_not(room: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        (theirs / "controller-0").write_text("tcp://127.0.0.1:1")
        with scratch_folder() as ours:
            assert ours.parent == theirs.parent == room
            assert theirs.exists(), "it is in use"
        other.kill()
        other.wait()
        assert theirs.exists(), "a killed process removes nothing"
    with scratch_folder():
        assert not theirs.exists()
    assert list(room.iterdir()) == []


def stale(folder: Path) -> Path:
    """A folder as a killed process leaves it."""
    folder.mkdir()
    (folder / LOCK).touch()
    return folder


def test_what_is_not_of_a_launcher_stays(room: Path) -> None:
    results = room / f"{PREFIX}results"
    results.mkdir()
    (results / "figures.csv").touch()
    elsewhere = stale(room / "elsewhere")
    (room / f"{PREFIX}link").symlink_to(elsewhere)
    linked, fifo = room / f"{PREFIX}linked", room / f"{PREFIX}fifo"
    for each in (linked, fifo):
        each.mkdir()
    (linked / LOCK).symlink_to(elsewhere / LOCK)
    os.mkfifo(fifo / LOCK)
    (room / f"{PREFIX}file").touch()
    before = sorted(room.rglob("*"))
    gone = stale(room / f"{PREFIX}gone")
    (gone / "link").symlink_to(elsewhere)
    with scratch_folder():
        assert not gone.exists()
    assert sorted(room.rglob("*")) == before


def test_the_folder_of_another_user_stays(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = stale(room / f"{PREFIX}theirs")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with scratch_folder():
        assert theirs.exists()


def test_many_that_start_and_end_at_once_do_not_remove_each_others(room: Path) -> None:
    def use(_: int) -> bool:
        with scratch_folder() as folder:
            (folder / "file").write_text("here")
            return (folder / "file").exists() and (folder / LOCK).exists()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(200)))
    assert list(room.iterdir()) == []


def test_one_that_was_taken_for_stale_before_it_was_locked_is_made_again(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first: list[Path] = []
    lock = fcntl.flock

    def removed_before(file: int, how: int) -> None:
        if not first:
            first.extend(room.iterdir())
            (first[0] / LOCK).unlink()
            first[0].rmdir()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", removed_before)
    with scratch_folder() as folder:
        assert folder.exists()
        assert folder != first[0]


def test_where_the_file_system_has_no_locks_nothing_is_removed(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(file: int, how: int) -> None:
        raise OSError(37, "No locks available")

    theirs = stale(room / f"{PREFIX}theirs")
    monkeypatch.setattr(fcntl, "flock", none)
    with scratch_folder() as folder:
        assert folder.exists()
        assert theirs.exists()
    assert list(room.iterdir()) == [theirs]
