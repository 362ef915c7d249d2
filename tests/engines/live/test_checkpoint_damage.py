"""Damaged checkpoints: each is noticed, told of in a sentence, and the one before it is used."""

from __future__ import annotations

import json
import os
import pickle
import random
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from tailcut.engines.live.checkpoints import CheckpointError, Checkpoints, newest
from tailcut.engines.live.checkpoints.files import read, write
from tailcut.engines.live.checkpoints.trees import Flat, flat_of
from tailcut.errors import InputError


def state_of(version: int) -> dict[str, Any]:
    numbers = torch.arange(60.0) + version
    return {
        "version": version,
        "net": {"w": numbers, "b": numbers.bfloat16()},
        "chain": bytes([version] * 32),
    }


def filled(folder: Path, *versions: int) -> Path:
    """A folder with these published; the file of the last."""
    said: list[str] = []
    for version in versions:
        checkpoints = Checkpoints(folder, every=1, keep=9, say=said.append)
        checkpoints.stage(version, state_of(version), {"version": version})
        checkpoints.confirmed(version)
        checkpoints.close()
    assert said == []
    return folder / f"v{versions[-1]:08d}.safetensors"


def test_cut_off_at_every_hundredth(tmp_path: Path) -> None:
    last = filled(tmp_path, 10, 20)
    whole = last.read_bytes()
    cuts = sorted({len(whole) * part // 100 for part in range(100)} | {*range(10), len(whole) - 1})
    for cut in cuts:
        last.write_bytes(whole[:cut])
        said: list[str] = []
        found = newest(tmp_path, said.append)
        assert found is not None, cut
        assert found.version == 10
        assert torch.equal(found.state["net"]["w"], state_of(10)["net"]["w"])
        (sentence,) = said
        assert sentence.startswith(f"A checkpoint is passed over. {last} is no whole checkpoint: ")
        assert sentence.endswith(".")
    last.write_bytes(whole)
    again = newest(tmp_path, said.append)
    assert again is not None
    assert again.version == 20


def test_a_wrong_bit_in_every_byte(tmp_path: Path) -> None:
    last = filled(tmp_path, 20)
    whole = last.read_bytes()
    draws = random.Random(0)
    for place in range(len(whole)):
        wrong = bytearray(whole)
        wrong[place] ^= 1 << draws.randrange(8)
        last.write_bytes(wrong)
        with pytest.raises(CheckpointError, match=last.name):
            read(last)


@given(seed=st.integers(0, 2**32), many=st.integers(1, 20))
@settings(max_examples=40, deadline=None)
def test_wrong_bits_anywhere(seed: int, many: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("bits")
    last = filled(folder, 10, 20)
    draws, wrong = random.Random(seed), bytearray(last.read_bytes())
    for place in draws.sample(range(len(wrong)), many):
        wrong[place] ^= 1 << draws.randrange(8)
    last.write_bytes(wrong)
    said: list[str] = []
    found = newest(folder, said.append)
    assert found is not None
    assert (found.version, len(said)) == (10, 1)
    assert str(last) in said[0]


def test_longer_than_it_was(tmp_path: Path) -> None:
    last = filled(tmp_path, 20)
    last.write_bytes(last.read_bytes() + b"\x00")
    with pytest.raises(CheckpointError, match="its contents do not match its checksum"):
        read(last)


def test_each_that_is_passed_over_has_a_sentence(tmp_path: Path) -> None:
    filled(tmp_path, 10, 20, 30, 40)
    for version, content in ((20, b""), (30, b"\x08"), (40, b"what is this?")):
        (tmp_path / f"v{version:08d}.safetensors").write_bytes(content)
    said: list[str] = []
    found = newest(tmp_path, said.append)
    assert found is not None
    assert found.version == 10
    assert [each.split("safetensors ")[1] for each in said] == [
        "is no whole checkpoint: its header should have 2338328219647830135 bytes, and the file has 13.",
        "is no whole checkpoint: it has 1 bytes, which is too short.",
        "is no whole checkpoint: it has 0 bytes, which is too short.",
    ]
    (tmp_path / "v00000010.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match=f"Not one of the 4 checkpoints in {tmp_path} is whole. Restore one"):
        newest(tmp_path, said.append)


def test_where_nothing_was_published(tmp_path: Path) -> None:
    said: list[str] = []
    assert newest(tmp_path / "not there", said.append) is None
    assert newest(tmp_path, said.append) is None
    (tmp_path / ".writing-0").mkdir()
    (tmp_path / ".writing-0" / "v00000010.safetensors").write_bytes(b"")
    (tmp_path / "v00000010.safetensors.tmp").write_bytes(b"")
    (tmp_path / "v00000020.safetensors").mkdir()
    os.mkfifo(tmp_path / "v00000030.safetensors")
    (tmp_path / "v000000000010.safetensors").write_bytes(b"")
    assert newest(tmp_path, said.append) is None
    assert said == []
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(
        InputError, match=r"There are no checkpoints to be had from .*file \(Not a directory\)"
    ):
        newest(tmp_path / "file", said.append)


class _Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


def test_nothing_in_a_file_is_executed(tmp_path: Path) -> None:
    filled(tmp_path, 10)
    trap = tmp_path / "sprung"
    (tmp_path / "v00000020.safetensors").write_bytes(pickle.dumps(_Trap(trap)))
    torch.save({"net": _Trap(trap)}, tmp_path / "v00000030.safetensors")
    said: list[str] = []
    found = newest(tmp_path, said.append)
    assert found is not None
    assert (found.version, len(said), trap.exists()) == (10, 2, False)


def test_other_files_of_the_same_format(tmp_path: Path) -> None:
    path = tmp_path / "v00000010.safetensors"
    save_file({"a": torch.ones(2)}, path)
    with pytest.raises(CheckpointError, match="its header has no checksum"):
        read(path)
    save_file({"a": torch.ones(2)}, path, {"digest": "0" * 64})
    with pytest.raises(CheckpointError, match="its contents do not match its checksum"):
        read(path)


def test_a_file_with_another_version_of_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "v00000010.safetensors"
    monkeypatch.setattr("tailcut.engines.live.checkpoints.files.VERSION", "2")
    write(path, flat_of({}))
    monkeypatch.undo()
    with pytest.raises(
        CheckpointError, match=r"it is 'tailcut checkpoint' of version '2', not .* version '1'"
    ):
        read(path)


def test_a_file_under_another_name(tmp_path: Path) -> None:
    filled(tmp_path, 10, 20).rename(tmp_path / "v00000030.safetensors")
    said: list[str] = []
    found = newest(tmp_path, said.append)
    assert found is not None
    assert found.version == 10
    assert said[0].endswith("v00000030.safetensors holds version 20, which its name does not say.")


@pytest.mark.parametrize(
    "tree",
    [
        '["dict",[]]',
        "7",
        '["dict",[["version",10],["state",3],["extra",["dict",[]]]]]',
        '["tensor","a","float32",[1099511627776]]',
        '["list",[' * 50_000 + "]]" * 50_000,
    ],
)
def test_a_well_made_file_with_no_state_in_it(tree: str, tmp_path: Path) -> None:
    write(tmp_path / "v00000010.safetensors", Flat({"a": torch.zeros(2)}, tree))
    said: list[str] = []
    with pytest.raises(InputError, match="Not one of the 1 checkpoints"):
        newest(tmp_path, said.append)
    assert "is no whole checkpoint" in said[0]


def test_a_header_that_claims_more_than_there_is(tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}).encode()
    path = tmp_path / "v00000010.safetensors"
    for length in (len(header), 2**63, 10**8 + 1):
        path.write_bytes(struct.pack("<Q", length) + header)
        with pytest.raises(CheckpointError):
            read(path)


def test_what_was_loaded_does_not_depend_on_the_file_any_more(tmp_path: Path) -> None:
    last = filled(tmp_path, 10)
    found = newest(tmp_path, print)
    assert found is not None
    with last.open("r+b") as file:
        file.write(bytes(last.stat().st_size))
    assert torch.equal(found.state["net"]["w"], state_of(10)["net"]["w"])
    found.state["net"]["w"].add_(1.0)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Even root cannot read the memory of nobody."""
    (tmp_path / "v00000010.safetensors").symlink_to("/proc/self/mem")
    said: list[str] = []
    with pytest.raises(InputError, match="Not one of the 1"):
        newest(tmp_path, said.append)
    assert said[0].endswith("v00000010.safetensors cannot be read: Input/output error.")
