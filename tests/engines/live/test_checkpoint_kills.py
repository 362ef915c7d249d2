"""Processes that are killed while they write: what was published stays, and what they left is cleared away."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import torch
from checkpoint_processes import PATIENCE, answer, child, files, state_of

from tailcut.engines.live import points
from tailcut.engines.live.checkpoints import Checkpoints, newest
from tailcut.engines.live.checkpoints.drafts import Drafts

KILLS = 20


def _for_ever(pipe: Connection, folder: Path, version: int, point: str, at: int) -> None:
    """Publish one checkpoint after the other; say which; end at a point of one of them."""
    published = threading.Event()

    def watch(passed: str, of: int, chain: bytes, accepted: tuple[int, ...]) -> None:
        if (passed, of) == (point, at):
            os.kill(os.getpid(), signal.SIGKILL)
        pipe.send((passed, of))
        if passed == "published":
            published.set()

    # Two would wait for each other on a busy machine.
    torch.set_num_threads(1)
    points.watch(watch)
    checkpoints = Checkpoints(folder, every=1, keep=2, say=lambda sentence: pipe.send((sentence, 0)))
    while True:
        version += 1
        published.clear()
        checkpoints.stage(version, state_of(version, 100_000), {"version": version})
        checkpoints.confirmed(version)
        published.wait(PATIENCE)


def whole(folder: Path) -> int:
    """The version that is found, which is as it was written; 0 for none."""
    found = newest(folder, pytest.fail)
    if found is None:
        return 0
    assert torch.equal(found.state["net"], state_of(found.version, 100_000)["net"])
    assert found.extra == {"version": found.version}
    return found.version


def told(pipe: Connection) -> list[tuple[str, int]]:
    """All that a dead process has told, and was not read yet."""
    found: list[tuple[str, int]] = []
    with suppress(EOFError):
        while pipe.poll():
            found.append(pipe.recv())
    return found


@pytest.mark.parametrize(("point", "left"), [("staging", 2), ("staged", 2), ("published", 3)])
def test_killed_at_each_point(point: str, left: int, tmp_path: Path) -> None:
    with child(_for_ever, tmp_path, 0, point, 3) as (process, pipe):
        process.join(PATIENCE)
        assert process.exitcode == -signal.SIGKILL
        assert [version for passed, version in told(pipe) if passed == "published"] == [1, 2]
    assert whole(tmp_path) == left
    assert any(name.startswith(".writing-") for name in files(tmp_path))
    Checkpoints(tmp_path, every=1, keep=2, say=pytest.fail).close()
    assert not any(name.startswith(".writing-") for name in files(tmp_path))
    assert whole(tmp_path) == left


def test_killed_at_any_moment(tmp_path: Path) -> None:
    draws, version, cut_short = random.Random(1), 0, 0
    for _ in range(KILLS):
        with child(_for_ever, tmp_path, version, "", 0) as (process, pipe):
            passed = [answer(pipe) for _ in range(draws.randint(1, 5))]
            until = time.monotonic() + draws.uniform(0.0, 0.005)
            while (left := until - time.monotonic()) > 0:
                passed += [pipe.recv()] if pipe.poll(left) else []
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            process.join(PATIENCE)
            passed += told(pipe)
        last = max((each for point, each in passed if point == "published"), default=version)
        found = whole(tmp_path)
        assert found in (last, last + 1)
        version = found
        cut_short += any(len(list(each.iterdir())) > 1 for each in tmp_path.glob(".writing-*"))
    assert version > KILLS / 2
    assert cut_short > 0
    Checkpoints(tmp_path, every=1, keep=2, say=pytest.fail).close()
    # One more where the last was killed before it came to remove that.
    three = [f"v{each:08d}.safetensors" for each in (version - 2, version - 1, version)]
    assert files(tmp_path) in (three[1:], three)


def _stages_and_waits(pipe: Connection, folder: Path) -> None:
    points.watch(lambda point, *_: pipe.send(point))
    checkpoints = Checkpoints(folder, every=1, keep=1, say=pipe.send)
    checkpoints.stage(7, state_of(7), {})
    pipe.recv()
    checkpoints.confirmed(7)
    checkpoints.close()


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    with child(_stages_and_waits, tmp_path) as (_, pipe):
        assert [answer(pipe), answer(pipe)] == ["staging", "staged"]
        Checkpoints(tmp_path, every=1, keep=1, say=pytest.fail).close()
        assert len(list(tmp_path.glob(".writing-*/v00000007.safetensors"))) == 1
        pipe.send("go on")
        assert answer(pipe) == "published"
    found = newest(tmp_path, pytest.fail)
    assert found is not None
    assert found.version == 7


def test_what_a_dead_process_left_is_cleared_away(tmp_path: Path) -> None:
    with child(_stages_and_waits, tmp_path) as (process, pipe):
        assert [answer(pipe), answer(pipe)] == ["staging", "staged"]
        process.kill()
        process.join(PATIENCE)
    (tmp_path / ".writing-empty").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("mine")
    (tmp_path / "elsewhere" / "lock").write_text("")
    (tmp_path / ".writing-link").symlink_to(tmp_path / "elsewhere")
    Checkpoints(tmp_path, every=1, keep=1, say=pytest.fail).close()
    assert files(tmp_path) == [".writing-link", "elsewhere"]
    assert files(tmp_path / "elsewhere") == ["file", "lock"]


def test_many_that_begin_at_once_do_not_clear_each_other_away(tmp_path: Path) -> None:
    made: list[Drafts] = []
    failed: list[BaseException] = []

    def begin() -> None:
        try:
            for _ in range(20):
                checkpoints = Checkpoints(tmp_path, every=1, keep=1, say=pytest.fail)
                assert checkpoints._drafts.there
                checkpoints.close()
            made.append(Drafts(tmp_path))
        except BaseException as problem:
            failed.append(problem)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(PATIENCE)
    assert failed == []
    assert all(each.there for each in made)
    assert len(list(tmp_path.iterdir())) == len(made) == 8
    for drafts in made:
        drafts.close()
    assert files(tmp_path) == []
