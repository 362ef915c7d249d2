"""Full disks and folders that cannot be written: told in a sentence, and what was published stays."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from checkpoint_processes import PATIENCE, answer, child, files, state_of

from tailcut.engines.live import points
from tailcut.engines.live.checkpoints import Checkpoints, newest
from tailcut.errors import InputError

NEW_MOUNTS, NEW_USER = 0x00020000, 0x10000000
READ_ONLY, REMOUNT, BIND, PRIVATE = 1, 32, 4096, (1 << 18) | (1 << 14)


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
    """Run in a mount namespace where the folder is a small disk; `events` are by the version they precede."""
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
