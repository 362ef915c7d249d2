"""A worker's folder of checkpoints that cannot be used: refused where a run begins, told where one is under way."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from tailcut.engines.live.data.buffer import FlatBuffer
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.worker.joining import Own
from tailcut.engines.live.worker.keeping import Keeping
from tailcut.engines.live.worker.replica import Replica
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


def test_impossible_numbers_are_refused_in_any_case(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="at least 1 update apart, but got 0"):
        keeping(tmp_path, every=0)
