"""Full disks, folders that cannot be written, and processes that are killed: what was published stays."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import random
import resource
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import torch

from tailcut.engines.live import points
from tailcut.engines.live.checkpoints import Checkpoints, newest
from tailcut.engines.live.checkpoints.drafts import Drafts
from tailcut.errors import InputError

PATIENCE = 30.0
NEW_MOUNTS, NEW_USER = 0x00020000, 0x10000000
READ_ONLY, REMOUNT, BIND, PRIVATE = 1, 32, 4096, (1 << 18) | (1 << 14)
KILLS = 20


def state_of(version: int, numbers: int = 1000) -> dict[str, Any]:
    return {"version": version, "net": torch.arange(numbers) * version}


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Other processes.


@contextmanager
def child(function: Callable[..., None], *args: Any) -> Iterator[tuple[BaseProcess, Connection]]:
    """A process that runs `function(pipe, *args)`; it is gone when the block ends."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", "torch", "tailcut.engines.live.checkpoints"])
    ours, theirs = context.Pipe()
    process = context.Process(target=function, args=(theirs, *args), daemon=True)
    process.start()
    theirs.close()
    try:
        yield process, ours
    finally:
        process.kill()
        process.join(PATIENCE)
        ours.close()
        process.close()


def answer(pipe: Connection) -> Any:
    assert pipe.poll(PATIENCE), "the process did not answer"
    return pipe.recv()


def _one_by_one(folder: Path, sizes: dict[int, int], before: Callable[[int], None], pipe: Connection) -> None:
    """Make checkpoints; tell what was said, what the folder holds after, and which version is found."""
    said: list[str] = []
    try:
        checkpoints = Checkpoints(folder, every=1, keep=9, say=said.append)
    except InputError as problem:
        pipe.send(str(problem))
        return
    for version, numbers in sizes.items():
        before(version)
        staged = threading.Event()
        checkpoints.stage(version, state_of(version, numbers), {})
        checkpoints.confirmed(version)
        checkpoints._writer.submit(staged.set)
        staged.wait(PATIENCE)
    held = {path.name: files(path) if path.is_dir() else path.stat().st_size > 0 for path in folder.iterdir()}
    checkpoints.close()
    found = newest(folder, said.append)
    pipe.send((said, held, None if found is None else found.version))


def _nothing(version: int) -> None:
    pass


# Folders that cannot be written at all.


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("something")
    for folder, why in ((tmp_path / "file", "File exists"), (tmp_path / "file" / "in it", "Not a directory")):
        with pytest.raises(
            InputError, match=rf"cannot be written to {folder} \({why}\). Give a folder that can"
        ):
            Checkpoints(folder, every=1, keep=1, say=pytest.fail)
    assert (tmp_path / "file").read_text() == "something"


def test_a_folder_where_nothing_can_be_made() -> None:
    """Not even by root."""
    with pytest.raises(
        InputError, match=r"Checkpoints cannot be written to /proc/self \(.*\). Give a folder"
    ):
        Checkpoints("/proc/self", every=1, keep=1, say=pytest.fail)


def _without_rights(pipe: Connection, folder: Path) -> None:
    if os.getuid() == 0:
        os.setuid(65534)
    _one_by_one(folder, {}, _nothing, pipe)


def test_a_folder_of_somebody_else(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with child(_without_rights, tmp_path) as (_, pipe):
        assert "(Permission denied). Give a folder that can be written." in answer(pipe)


# What goes wrong later.


def _on_a_small_disk(
    pipe: Connection, folder: Path, kilobytes: int, events: dict[int, str], sizes: dict[int, int]
) -> None:
    """In a world of its own, where the folder is a disk of this size; `events`: before a version."""
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source: bytes | None, to: bytes, flags: int, data: bytes | None) -> None:
        if libc.mount(source, to, source, flags, data) != 0:
            raise OSError(ctypes.get_errno(), "mount")

    user, group, target, data = os.getuid(), os.getgid(), os.fsencode(folder), b"size=%dk" % kilobytes
    try:
        if libc.unshare(NEW_MOUNTS | (NEW_USER if user else 0)) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        if user:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"0 {user} 1")
            Path("/proc/self/gid_map").write_text(f"0 {group} 1")
        mount(None, b"/", PRIVATE, None)
        mount(b"tmpfs", target, 0, data)
    except OSError as problem:
        pipe.send(problem)
        return

    def before(version: int) -> None:
        match events.get(version):
            case "full":
                (folder / "other").write_bytes(bytes(1024 * kilobytes))
            case "read-only":
                # Another mount over it: what is open for writing cannot be made read-only.
                mount(target, target, BIND, None)
                mount(None, target, REMOUNT | BIND | READ_ONLY, None)
            case "as before":
                libc.umount2(target, 0)

    before(0)
    _one_by_one(folder, sizes, before, pipe)


def on_a_small_disk(folder: Path, kilobytes: int, events: dict[int, str], sizes: dict[int, int]) -> Any:
    with child(_on_a_small_disk, folder, kilobytes, events, sizes) as (_, pipe):
        found = answer(pipe)
    if isinstance(found, OSError):
        pytest.skip(f"nothing can be mounted here: {found}")
    return found


def test_a_full_disk(tmp_path: Path) -> None:
    said, held, found = on_a_small_disk(tmp_path, 256, {}, {1: 10_000, 2: 100_000, 3: 24_000, 4: 1000})
    assert said == [
        f"The checkpoint of version {version} could not be written to {tmp_path}: No space left on device. Those "
        "before it stay, and the next is tried at its time."
        for version in (2, 3)
    ]
    drafts = next(name for name in held if name.startswith(".writing-"))
    assert held == {"v00000001.safetensors": True, "v00000004.safetensors": True, drafts: ["lock"]}
    assert found == 4


def test_a_disk_that_is_full_from_the_start(tmp_path: Path) -> None:
    assert "No space left on device" in on_a_small_disk(tmp_path, 64, {0: "full"}, {})


def test_a_disk_that_becomes_read_only_and_comes_back(tmp_path: Path) -> None:
    said, held, found = on_a_small_disk(
        tmp_path, 256, {2: "read-only", 4: "as before"}, {1: 10, 2: 10, 3: 10, 4: 10}
    )
    assert [each.split(": ")[1].split(".")[0] for each in said] == ["Read-only file system"] * 2
    assert [each.split(" could")[0] for each in said] == [f"The checkpoint of version {v}" for v in (2, 3)]
    assert (found, sorted(held)[1:]) == (4, ["v00000001.safetensors", "v00000004.safetensors"])


def test_a_disk_that_is_read_only_from_the_start(tmp_path: Path) -> None:
    told = on_a_small_disk(tmp_path, 256, {0: "read-only"}, {})
    assert told == (
        f"Checkpoints cannot be written to {tmp_path} (Read-only file system). Give a folder that can be written."
    )


def _with_short_files(pipe: Connection, folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    _one_by_one(folder, {1: 1000, 2: 100_000, 3: 1000}, _nothing, pipe)


def test_a_file_that_gets_too_long(tmp_path: Path) -> None:
    with child(_with_short_files, tmp_path) as (_, pipe):
        said, held, found = answer(pipe)
    assert len(said) == 1
    assert "version 2 could not be written" in said[0]
    assert "File too large" in said[0]
    assert (found, len(held)) == (3, 3)


def test_a_folder_that_somebody_removes(tmp_path: Path) -> None:
    folder, said = tmp_path / "folder", list[str]()
    staged = threading.Event()
    points.watch(lambda point, *_: staged.set() if point == "staged" else None)
    try:
        checkpoints = Checkpoints(folder, every=1, keep=9, say=said.append)
        checkpoints.stage(1, state_of(1), {})
        assert staged.wait(PATIENCE)
        shutil.rmtree(folder)
        checkpoints.confirmed(1)
        checkpoints.stage(2, state_of(2), {})
        checkpoints.confirmed(2)
        checkpoints.close()
    finally:
        points.watch(None)
    assert len(said) == 1
    assert said[0].startswith(
        f"The checkpoint of version 1 could not be published in {folder}: No such file or dir"
    )
    assert files(folder) == ["v00000002.safetensors"]


# Processes that are killed.


def _for_ever(pipe: Connection, folder: Path, version: int, point: str, at: int) -> None:
    """Publish one checkpoint after the other; say which; end at a point of one of them."""
    published = threading.Event()

    def watch(passed: str, of: int, chain: bytes, accepted: tuple[int, ...]) -> None:
        if (passed, of) == (point, at):
            os.kill(os.getpid(), signal.SIGKILL)
        if passed == "published":
            pipe.send(of)
            published.set()

    points.watch(watch)
    checkpoints = Checkpoints(folder, every=1, keep=2, say=lambda told: pipe.send(told))
    pipe.send(version)
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


def drain(pipe: Connection, last: int) -> int:
    """The last version that the process said it had published."""
    try:
        while pipe.poll():
            last = pipe.recv()
    except EOFError:
        pass
    return last


@pytest.mark.parametrize(("point", "left"), [("staging", 2), ("staged", 2), ("published", 3)])
def test_killed_at_each_point(point: str, left: int, tmp_path: Path) -> None:
    with child(_for_ever, tmp_path, 0, point, 3) as (process, pipe):
        process.join(PATIENCE)
        assert process.exitcode == -signal.SIGKILL
        assert drain(pipe, 0) == 2
    assert whole(tmp_path) == left
    assert any(name.startswith(".writing-") for name in files(tmp_path))
    Checkpoints(tmp_path, every=1, keep=2, say=pytest.fail).close()
    assert not any(name.startswith(".writing-") for name in files(tmp_path))
    assert whole(tmp_path) == left


def test_killed_at_any_moment(tmp_path: Path) -> None:
    draws, version, cut_short = random.Random(1), 0, 0
    for _ in range(KILLS):
        with child(_for_ever, tmp_path, version, "", 0) as (process, pipe):
            for _ in range(draws.randint(1, 3)):
                last = answer(pipe)
            until = time.monotonic() + draws.uniform(0.0, 0.02)
            while (left := until - time.monotonic()) > 0:
                if pipe.poll(left):
                    last = pipe.recv()
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            process.join(PATIENCE)
            last = drain(pipe, last)
        found = whole(tmp_path)
        assert found in (last, last + 1)
        version = found
        cut_short += any(len(list(each.iterdir())) > 1 for each in tmp_path.glob(".writing-*"))
    assert version > KILLS / 2
    assert cut_short > 0
    Checkpoints(tmp_path, every=1, keep=2, say=pytest.fail).close()
    assert files(tmp_path) == [f"v{each:08d}.safetensors" for each in (version - 1, version)]


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
