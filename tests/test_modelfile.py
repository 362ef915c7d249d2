"""Model files: what is written is read back, and every bad file is one sentence."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tailcut.errors import InputError, ModelFileError
from tailcut.modelfile import VERSION, ModelFile, read_model, write_model

ARRAYS = {
    "weights": np.arange(6, dtype=np.float32).reshape(2, 3),
    "ids": np.array([1, 5], dtype=np.int64),
    "bytes": np.arange(7, dtype=np.uint8),
    "scale": np.array([1.5]),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "m.safetensors"
    write_model(file, "toy", ARRAYS, {"source": "xeon158", "rounds": "600"})
    return file


def said(path: Path | str, kind: str = "toy") -> str:
    with pytest.raises(ModelFileError) as caught:
        read_model(path, kind)
    message = str(caught.value)
    assert isinstance(caught.value, InputError)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_what_is_written_is_read_back(path: Path) -> None:
    model = read_model(path, "toy")
    assert model.kind == "toy"
    assert dict(model.about) == {"source": "xeon158", "rounds": "600"}
    assert set(model.arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        found = model.array(name, array.shape, array.dtype)
        assert np.array_equal(found, array)
    model.only(ARRAYS)


def test_a_file_is_replaced_whole_or_not_at_all(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(Exception, match="str"):
        write_model(path, "toy", {"text": np.array(["a"])}, {})
    assert path.read_bytes() == before
    write_model(path, "toy", {"other": np.zeros(1)}, {})
    assert list(read_model(path, "toy").arrays) == ["other"]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_writing_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be written"):
        write_model(tmp_path / "no" / "such" / "folder" / "m", "toy", ARRAYS, {})


def test_a_missing_file(tmp_path: Path) -> None:
    assert "No such file" in said(tmp_path / "nothing.safetensors")


def test_a_folder(tmp_path: Path) -> None:
    assert "cannot be read: it is a folder" in said(tmp_path)


def test_a_path_that_is_none() -> None:
    with pytest.raises(ModelFileError, match="null"):
        read_model("a\0b", "toy")


def test_an_empty_file(path: Path) -> None:
    path.write_bytes(b"")
    assert "no safetensors file" in said(path)


@pytest.mark.parametrize("text", [b"time,worker\n1,2\n", b"\x89PNG\r\n\x1a\n" + bytes(40)])
def test_another_kind_of_file(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    assert "no safetensors file" in said(path)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_in_disguise(path: Path, protocol: int) -> None:
    path.write_bytes(pickle.dumps({"weights": [1.0, 2.0]}, protocol=protocol))
    assert "is a pickle" in said(path)


def test_what_torch_saves(path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"weights": torch.zeros(3)}, path)
    assert "is a pickle" in said(path)


def test_another_version(path: Path) -> None:
    save_file(ARRAYS, path, {"format": "tailcut toy model", "version": "999"})
    message = said(path)
    assert "'999'" in message
    assert repr(VERSION) in message


def test_another_kind_of_model(path: Path) -> None:
    message = said(path, kind="other")
    assert "toy" in message
    assert "other" in message


def test_somebody_elses_safetensors(path: Path) -> None:
    save_file(ARRAYS, path)
    assert "toy model" in said(path)


def changed(**arrays: Any) -> ModelFile:
    return ModelFile("m.safetensors", "toy", ARRAYS | arrays, {})


@pytest.mark.parametrize(
    ("model", "name", "words"),
    [
        (changed(), "bias", "no array 'bias'"),
        (changed(weights=np.zeros((3, 2), dtype=np.float32)), "weights", r"shape \(3, 2\) where \(2, 3\)"),
        (changed(weights=np.zeros((2, 3))), "weights", "float64 where float32"),
        (changed(weights=np.zeros((2, 3), dtype=np.int64)), "weights", "int64 where float32"),
        (changed(weights=np.full((2, 3), np.nan, dtype=np.float32)), "weights", "not finite"),
        (changed(weights=np.full((2, 3), np.inf, dtype=np.float32)), "weights", "not finite"),
    ],
)
def test_arrays_that_are_not_what_is_needed(model: ModelFile, name: str, words: str) -> None:
    with pytest.raises(ModelFileError, match=words):
        model.array(name, (2, 3))


def test_an_array_too_many() -> None:
    with pytest.raises(ModelFileError, match="'extra'"):
        changed(extra=np.zeros(1)).only(ARRAYS)


def test_files_cut_off_anywhere(path: Path) -> None:
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        said(path)


def test_files_with_a_wrong_byte_are_a_sentence_or_a_model(path: Path) -> None:
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for _ in range(600):
        data = bytearray(whole)
        data[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
        path.write_bytes(data)
        try:
            read_model(path, "toy")
        except ModelFileError:
            refused += 1
    assert refused > 200
