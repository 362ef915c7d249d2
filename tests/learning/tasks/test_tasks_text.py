"""The language model: pieces of text, bits per byte, and files that cannot be used."""

from __future__ import annotations

import math
import os
import sysconfig
from pathlib import Path

import numpy as np
import pytest
import torch

from tailcut.errors import InputError, ParameterError
from tailcut.learning.nets import CausalNet, seeded
from tailcut.learning.tasks.text import library_source, split, symbols_of, text

FOLDER = os.environ.get("TAILCUT_DATA")


def test_a_piece_is_followed_by_itself_one_byte_on(tmp_path: Path) -> None:
    path = tmp_path / "counting.txt"
    path.write_bytes(bytes(range(200)) * 10)
    task = text(file=str(path), length=7)
    pieces, following = task.batches(np.arange(50), np.arange(50), 3, seed=0)
    assert pieces.shape == following.shape == (150, 7)
    assert torch.equal(pieces[:, 1:], following[:, :-1])
    assert torch.equal((pieces + 1) % 200, following)


def test_the_end_of_the_text_is_kept_back() -> None:
    ids = torch.arange(1000)
    train, held = split(ids, length=9)
    assert train.tolist() == list(range(900))
    assert held.shape == (91, 10)
    assert (held[0, 0], held[-1, -1]) == (900, 999)


def test_symbols_are_the_bytes_that_occur() -> None:
    ids, count = symbols_of(b"banana")
    assert (ids.tolist(), count) == ([1, 0, 2, 0, 2, 0], 3)


def test_bits_are_nats_over_log_two(tmp_path: Path) -> None:
    path = tmp_path / "noise.txt"
    path.write_bytes(np.random.default_rng(0).integers(0, 64, 5000, dtype=np.uint8).tobytes())
    task = text(file=str(path))
    net = task.net(0)
    for parameter in net.parameters():
        parameter.data.zero_()
    figures = task.evaluate(net)
    assert figures["loss"] == pytest.approx(math.log(64), rel=1e-5)
    assert figures["bits_per_byte"] == pytest.approx(6.0, rel=1e-5)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_prediction_sees_what_comes_before_and_no_more(layers: int) -> None:
    net = seeded(lambda: CausalNet(20, 16, layers), 0)
    inputs = torch.arange(12)[None]
    changed = inputs.clone()
    changed[0, 5] = 19
    with torch.no_grad():
        moved = (net(inputs) != net(changed)).any(-1)[0]
    assert moved.tolist() == [5 <= place < 5 + 2**layers for place in range(12)]


def test_a_piece_shorter_than_the_net_sees_is_no_trouble() -> None:
    net = seeded(lambda: CausalNet(5, 4, 6), 0)
    assert net(torch.zeros(2, 3, dtype=torch.long)).shape == (2, 3, 5)


def test_the_library_comes_in_the_order_of_its_names() -> None:
    source = library_source(300_000)
    assert len(source) == 300_000
    first = min(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    assert source.startswith(first.read_bytes()[:1000])
    assert library_source(1000) == source[:1000]


def test_a_library_without_source_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(InputError, match=r"holds no source .* write text:file=PATH instead"):
        text()


def test_skew_gives_workers_stretches_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    path.write_bytes(b"a" * 900 + b"b" * 900 + b"ab" * 100)
    task = text(file=str(path), skew=1.0, of=2)
    pieces, _ = task.batches(np.array([0, 1]), np.array([0, 0]), 40, seed=0)
    assert (pieces[:40] == 0).all()
    assert (pieces[40:] == 1).float().mean() > 0.9


def test_it_learns() -> None:
    task = text(limit=200_000, width=16, layers=2)
    net = task.net(0)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
    before = task.evaluate(net)["bits_per_byte"]
    for number in range(60):
        optimiser.zero_grad()
        task.losses(net, task.batches(np.arange(32), np.full(32, number), 2, seed=0)).mean().backward()
        optimiser.step()
    assert before > 6.0
    assert task.evaluate(net)["bits_per_byte"] < 4.2


def test_files_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.txt: cannot be read \(No such file"):
        text(file=str(tmp_path / "nowhere.txt"))
    with pytest.raises(InputError, match="cannot be read"):
        text(file=str(tmp_path))
    (tmp_path / "short.txt").write_text("too short")
    with pytest.raises(InputError, match="must have at least 330 bytes for pieces of 32, but got 9"):
        text(file=str(tmp_path / "short.txt"))
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(InputError, match="but got 0"):
        text(file=str(tmp_path / "empty.txt"))


@pytest.mark.parametrize("wrong", [{"length": 0}, {"limit": 0}, {"layers": 21}, {"width": -3}, {"goal": 0.0}])
def test_impossible_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        text(**wrong)  # type: ignore[arg-type]


@pytest.mark.data
@pytest.mark.skipif(FOLDER is None, reason="TAILCUT_DATA names no folder with text/tinyshakespeare.txt")
def test_on_shakespeare() -> None:
    assert FOLDER is not None
    task = text(file=str(Path(FOLDER, "text", "tinyshakespeare.txt")))
    assert task.symbols == 65
    assert len(task.train) == 1_115_394 - 111_539
