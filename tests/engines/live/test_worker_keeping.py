"""A worker's folder of checkpoints that cannot be used: refused where a run begins, told where one is under way."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from tailcut.engines.live.checkpoints import Checkpoints, newest
from tailcut.engines.live.data.buffer import FlatBuffer
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.worker.joining import Own
from tailcut.engines.live.worker.keeping import Keeping
from tailcut.engines.live.worker.replica import Replica
from tailcut.engines.live.worker.session import check_folder
from tailcut.errors import InputError, ParameterError


def keeping(folder: Path, every: int = 1) -> tuple[Keeping, Own]:
    net = nn.Linear(2, 1)
    replica = Replica(net, torch.optim.SGD(net.parameters(), lr=0.1), None, None, None)
    own = Own(replica, FlatBuffer(net, None, False), UpdateLog(most_bytes=1 << 20))
    return Keeping(own, folder, every, 2, None), own


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    """A folder that is none; not even root can write to it."""
    (tmp_path / "kept").write_text("")
    return tmp_path / "kept"


def test_a_run_does_not_begin_with_a_folder_that_cannot_be_used(blocked: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be written to .* \(File exists\)"):
        keeping(blocked)[0].check(is_under_way=False)


def test_who_joins_a_run_tells_of_the_folder_and_writes_when_it_can(
    blocked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    it, own = keeping(blocked)
    it.check(is_under_way=True)
    said = capsys.readouterr().err
    assert said.startswith(f"tailcut: Checkpoints cannot be written to {blocked} (File exists).")
    assert said.endswith("It is tried again.\n")
    own.replica.version = 1
    it.made(is_writer=True)
    blocked.unlink()
    own.replica.version = 2
    it.made(is_writer=True)
    it.confirmed(2)
    it.close()
    assert [path.name for path in blocked.glob("v*")] == ["v00000002.safetensors"]


def test_damaged_checkpoints_do_not_keep_anybody_from_joining_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "v00000007.safetensors").write_text("something")
    with pytest.raises(InputError, match="Not one of the 1 checkpoints"):
        keeping(tmp_path)[0].check(is_under_way=False)
    keeping(tmp_path)[0].check(is_under_way=True)
    assert "Not one of the 1 checkpoints" in capsys.readouterr().err


def test_two_optimizers_of_a_script_cannot_share_a_folder(tmp_path: Path) -> None:
    """Two optimizers would replace each other's files, and each would resume with the net of the other."""

    def session(folder: Path | None, left: bool = False) -> Any:
        return SimpleNamespace(folder=folder, left=left)

    with pytest.raises(ParameterError, match="Another optimizer of this script keeps its checkpoints in"):
        check_folder(tmp_path, [session(None), session(tmp_path)])
    check_folder(tmp_path, [session(tmp_path, left=True), session(tmp_path / "other")])
    check_folder(None, [session(None)])


def test_impossible_numbers_are_refused_in_any_case(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="at least 1 update apart, but got 0"):
        keeping(tmp_path, every=0)


def published(folder: Path, version: int, chain: bytes = b"theirs") -> None:
    """A checkpoint of another worker, whose net holds its version in every number."""
    _, own = keeping(folder)
    with torch.no_grad():
        for each in own.replica.module.parameters():
            each.fill_(float(version))
    own.replica.version = version
    writer = Checkpoints(folder, 1, 9, pytest.fail)
    writer.stage(version, own.replica.state() | {"chain": chain}, {"positions": []})
    writer.confirmed(version)
    writer.close()


def test_a_worker_behind_a_checkpoint_resumes_from_it(tmp_path: Path) -> None:
    published(tmp_path, 10)
    it, own = keeping(tmp_path)
    assert own.log.version == 10
    assert not it.resume_later(is_in_run=False), "it has that"
    published(tmp_path, 20)
    assert it.resume_later(is_in_run=False)
    assert (own.log.version, own.replica.version, own.log.chain) == (20, 20, b"theirs")
    assert all((each == 20.0).all() for each in own.replica.module.parameters())


@pytest.mark.parametrize(("chain", "resumes"), [(b"theirs", False), (b"its own", True)])
def test_a_worker_with_another_history_than_a_checkpoint_of_its_version_resumes_from_it(
    tmp_path: Path, chain: bytes, resumes: bool
) -> None:
    it, own = keeping(tmp_path)
    own.log.restart(10, chain, own.log.positions)
    own.replica.version = 10
    published(tmp_path, 10)
    assert it.resume_later(is_in_run=True) is resumes
    assert own.log.chain == b"theirs"


def test_a_worker_before_all_checkpoints_keeps_its_state(tmp_path: Path) -> None:
    published(tmp_path, 10)
    it, own = keeping(tmp_path)
    own.log.restart(11, b"its own", own.log.positions)
    assert not it.resume_later(is_in_run=True)


def test_checkpoints_that_cannot_be_read_are_told_of_and_change_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    it, own = keeping(tmp_path)
    (tmp_path / "v00000010.safetensors").write_text("something")
    assert not it.resume_later(is_in_run=False)
    assert own.log.version == 0
    assert "are not looked at: Not one of the 1 checkpoints" in capsys.readouterr().err


# Epochs.


def versions(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("v*"))


def test_the_end_of_an_epoch_is_kept_as_the_script_leaves_it_when_it_goes_on(tmp_path: Path) -> None:
    it, own = keeping(tmp_path, every=3)
    it.loop(updates=6, total=18)
    for version in range(1, 7):
        own.replica.version = version
        it.made(is_writer=True)
    own.replica.optimiser.param_groups[0]["lr"] = 0.05  # a schedule that is stepped once per epoch
    it.confirmed(6)
    it.between_epochs()
    it.between_epochs()
    it.confirmed(6)
    it.close()
    assert versions(tmp_path) == ["v00000003.safetensors", "v00000006.safetensors"]
    found = newest(tmp_path, print)
    assert found is not None
    assert found.state["optimiser"]["param_groups"][0]["lr"] == 0.05


def test_the_last_version_of_the_last_epoch_is_kept_too_and_nothing_of_who_does_not_write(
    tmp_path: Path,
) -> None:
    it, own = keeping(tmp_path, every=100)
    it.loop(updates=3, total=6)
    for version in (3, 6):
        own.replica.version = version
        it.made(is_writer=version == 6)
        it.between_epochs()
    it.confirmed(6)
    it.close()
    assert versions(tmp_path) == ["v00000006.safetensors"]


def test_what_was_held_back_is_forgotten_with_the_state(tmp_path: Path) -> None:
    it, own = keeping(tmp_path, every=3)
    it.loop(updates=3, total=9)
    own.replica.version = 3
    it.made(is_writer=True)
    it.forget()
    it.between_epochs()
    it.confirmed(3)
    it.close()
    assert versions(tmp_path) == []
