"""Files of data sets: what is right is read, and what is wrong is told in one sentence with the file in it."""

from __future__ import annotations

import gzip
import io
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tailcut.errors import InputError, MissingExtraError
from tailcut.learning.tasks.readers import files
from tailcut.learning.tasks.readers.cifar import read_cifar, read_records
from tailcut.learning.tasks.readers.files import read_bytes
from tailcut.learning.tasks.readers.idx import read_idx
from tailcut.learning.tasks.readers.images import npz_images
from tailcut.learning.tasks.readers.jpeg import read_jpeg
from tailcut.learning.tasks.readers.npz import read_arrays

HEADER = bytes((0, 0, 8, 3)) + struct.pack(">3I", 2, 3, 4)
GOOD = HEADER + bytes(range(24))
# Without the time of day: both processes that run the tests must find the same names.
PACKED = gzip.compress(GOOD, mtime=0)
IMAGES = np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)
LABELS = np.array([0, 1, 2, 0, 1, 2])


def refused(read: Callable[[], object], path: Path, told: str) -> None:
    """One sentence that begins with the file."""
    with pytest.raises(InputError, match=told) as caught:
        read()
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    assert "Remedy: " in str(caught.value)


def complaint(read: Callable[[], object]) -> str | None:
    """Return the error message of a reader, None where it reads; any other error is a failure."""
    try:
        read()
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("raw", [GOOD, PACKED], ids=["plain", "gzipped"])
def test_idx_is_read_whatever_its_ending(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(raw)
    assert np.array_equal(read_idx(path, 3), np.arange(24).reshape(2, 3, 4))


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "has only 0 bytes"),
        (GOOD[:7], "has only 7 bytes, too few for the header"),
        (b"\x01" + GOOD[1:], "must begin with the bytes 00 00 08 03, but begins with 01 00 08 03"),
        (GOOD[:2] + b"\x0d" + GOOD[3:], "begins with 00 00 0d 03.*unsigned bytes"),
        (bytes((0, 0, 8, 1)) + GOOD[4:], "begins with 00 00 08 01.*with 3 dimensions"),
        (GOOD[:-1], "its header claims 2 x 3 x 4 = 24 bytes, the file holds 23"),
        (GOOD + b"x", "the file holds 25"),
        (
            HEADER[:4] + struct.pack(">3I", 100_000, 320, 320) + b"few",
            "100000 x 320 x 320 = 10,240,000,000 bytes, the file holds 3",
        ),
        (HEADER[:4] + struct.pack(">3I", *(2**32 - 1,) * 3), "the file holds 0"),
        (PACKED[:-9], "gzip file is cut short or damaged"),
        (
            PACKED[:12] + b"\xff\xff" + PACKED[14:],
            "gzip file is cut short or damaged",
        ),
        (b"\x1f\x8b", "gzip file is cut short or damaged"),
    ],
)
def test_bad_idx_is_refused(tmp_path: Path, raw: bytes, told: str) -> None:
    path = tmp_path / "images"
    path.write_bytes(raw)
    refused(lambda: read_idx(path, 3), path, told)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60), st.integers(0, 60), st.booleans())
def test_altered_idx_is_read_or_refused(tmp_path: Path, noise: bytes, at: int, packed: bool) -> None:
    raw = PACKED if packed else GOOD
    path = tmp_path / "altered"
    path.write_bytes(raw[:at] + noise + raw[at + len(noise) :])
    told = complaint(lambda: read_idx(path, 3))
    assert told is None or str(path) in told


def test_missing_and_endless_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(lambda: read_bytes(tmp_path / "no"), tmp_path / "no", "cannot be read \\(No such file")
    refused(lambda: read_bytes(tmp_path), tmp_path, "cannot be read")
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(bytes(10_000_000)))
    refused(lambda: read_bytes(bomb, 1000), bomb, "holds more than 1,000 bytes")


def records(labels: list[int]) -> bytes:
    rows = np.full((len(labels), 3073), 9, dtype=np.uint8)
    rows[:, 0] = labels
    rows[:, 1] = 77
    return rows.tobytes()


def test_cifar_records_are_label_and_planes(tmp_path: Path) -> None:
    path = tmp_path / "data_batch_1.bin"
    path.write_bytes(records([3, 9]))
    images, labels = read_records(path)
    assert images.shape == (2, 3, 32, 32)
    assert labels.tolist() == [3, 9]
    assert (images[1, 0, 0, 0], images[1, 2, 31, 31]) == (77, 9)


def test_cifar_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name, labels in (("data_batch_2", [5]), ("data_batch_1", [2, 1]), ("test_batch", [4])):
        (tmp_path / f"{name}.bin").write_bytes(records(labels))
    found = read_cifar(tmp_path)
    assert (found.train_labels.tolist(), found.test_labels.tolist()) == ([2, 1, 5], [4])
    assert found.classes == 6


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "multiple of 3073 bytes long, but has 0"),
        (records([1])[:-1], "multiple of 3073 bytes long, but has 3,072"),
        (records([1, 2, 10]), "between 0 and 9, but record 2 has 10.*not CIFAR-100"),
    ],
)
def test_bad_cifar_is_refused(tmp_path: Path, raw: bytes, told: str) -> None:
    path = tmp_path / "data_batch_1.bin"
    path.write_bytes(raw)
    refused(lambda: read_cifar(tmp_path), path, told)


def test_a_cifar_folder_without_its_files_is_refused(tmp_path: Path) -> None:
    refused(lambda: read_cifar(tmp_path), tmp_path, "there is no data_batch")
    (tmp_path / "data_batch_1.bin").write_bytes(records([1]))
    refused(lambda: read_cifar(tmp_path), tmp_path / "test_batch.bin", "cannot be read")


def saved(path: Path, **arrays: NDArray[Any]) -> Path:
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
    return path


def keras(path: Path, **changed: NDArray[Any]) -> Path:
    arrays = {"x_train": IMAGES, "y_train": LABELS, "x_test": IMAGES[:3], "y_test": LABELS[:3]}
    return saved(path, **{**arrays, **changed})


@pytest.mark.parametrize("layout", ["channels last", "channels first", "labels in a column"])
def test_keras_layouts_are_read(tmp_path: Path, layout: str) -> None:
    changed: dict[str, NDArray[Any]] = {}
    if layout == "channels first":
        changed = {"x_train": IMAGES.transpose(0, 3, 1, 2), "x_test": IMAGES[:3].transpose(0, 3, 1, 2)}
    if layout == "labels in a column":
        changed = {"y_train": LABELS[:, None].astype(np.uint8)}
    found = npz_images(keras(tmp_path / "images.npz", **changed))
    assert found is not None
    assert np.array_equal(found.train, IMAGES.transpose(0, 3, 1, 2))
    assert np.array_equal(found.train_labels, LABELS)


def test_grey_images_get_one_channel(tmp_path: Path) -> None:
    found = npz_images(keras(tmp_path / "grey.npz", x_train=IMAGES[..., 0], x_test=IMAGES[:3, ..., 0]))
    assert found is not None
    assert found.train.shape == (6, 1, 32, 32)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"x_train": IMAGES.astype(np.float32)}, "'x_train' must hold bytes, but its type is float32"),
        ({"x_train": IMAGES.astype(np.uint16)}, "x_train must hold bytes, but its type is uint16"),
        ({"x_train": IMAGES[0, 0]}, "x_train must have 3 or 4 dimensions, but has the shape \\(32, 3\\)"),
        ({"x_train": IMAGES[:0], "y_train": LABELS[:0]}, "there are no training images"),
        ({"y_train": LABELS[:5]}, "there are 6 training images and 5 labels"),
        ({"y_train": np.zeros((6, 2), dtype=np.int64)}, "y_train must be one label a sample"),
        ({"x_test": IMAGES[:3, :30]}, "training images are \\(3, 32, 32\\), test images \\(3, 30, 32\\)"),
        ({"y_train": LABELS - 1}, "labels must lie between 0 and 255"),
        ({"y_test": LABELS[:3] + 5}, "no training image has the test label 7"),
        (
            {"y_train": LABELS.astype(object)},
            "'y_train' must hold bytes or whole numbers, but its type is object",
        ),
    ],
)
def test_bad_arrays_are_refused(tmp_path: Path, changed: dict[str, NDArray[Any]], told: str) -> None:
    path = keras(tmp_path / "bad.npz", **changed)
    refused(lambda: npz_images(path), path, told)


def test_another_layout_is_nobodys_fault(tmp_path: Path) -> None:
    assert npz_images(saved(tmp_path / "other.npz", a=LABELS)) is None


def npy(shape: str, dtype: str, data: bytes) -> bytes:
    """A .npy file whose header says what it likes."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (npy("(10000000000,)", "|u1", b"abc"), "claims 10,000,000,000 bytes, the file holds 3"),
        (npy("(2,)", "|u1", b"abc"), "claims 2 bytes, the file holds 3"),
        (npy("(-3,)", "|u1", b"abc"), "damaged|claims"),
        (npy("(3,)", "|O", b"abc"), "must hold bytes, but its type is object"),
        (npy("(3,)", "|u1", b"abc")[:40], "the array 'a' is damaged"),
        (b"\x93NUMPY\x01\x00\xff\xff" + b" " * 70_000, "the array 'a' is damaged"),
        (b"no header at all", "the array 'a' is damaged"),
    ],
)
def test_false_headers_are_refused(tmp_path: Path, entry: bytes, told: str) -> None:
    path = tmp_path / "false.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", entry)
    refused(lambda: read_arrays(path, {"a": "u"}), path, told)


def test_what_is_no_npz_file_or_lacks_an_array_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "no.npz"
    path.write_bytes(b"PK, but not for long")
    refused(lambda: read_arrays(path, {"a": "u"}), path, "is not a complete npz file")
    refused(lambda: read_arrays(tmp_path / "none.npz", {"a": "u"}), tmp_path / "none.npz", "cannot be read")
    saved(path, b=LABELS, c=LABELS)
    refused(lambda: read_arrays(path, {"a": "u"}), path, "there is no array 'a', only b, c")
    monkeypatch.setattr("tailcut.learning.tasks.readers.npz.MAX_BYTES", 20)
    refused(lambda: read_arrays(path, {"b": "i"}), path, "'b' has 176 bytes, more than the 20 allowed")
    assert files.MAX_BYTES == 1 << 30


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.integers(0, 500), st.binary(min_size=1, max_size=8))
def test_altered_npz_is_read_or_refused(tmp_path: Path, at: int, noise: bytes) -> None:
    raw = bytearray(saved(tmp_path / "whole.npz", a=np.arange(9, dtype=np.uint8)).read_bytes())
    raw[at : at + len(noise)] = noise
    path = tmp_path / "altered.npz"
    path.write_bytes(raw)
    told = complaint(lambda: read_arrays(path, {"a": "u"}))
    assert told is None or str(path) in told


def jpegs(images: NDArray[np.uint8] = IMAGES) -> dict[str, NDArray[Any]]:
    from PIL import Image

    packed = []
    for image in images:
        buffer = io.BytesIO()
        Image.fromarray(image).save(buffer, "JPEG", quality=100, subsampling=0)
        packed.append(np.frombuffer(buffer.getvalue(), np.uint8))
    offset = np.cumsum([0, *map(len, packed)])
    test = np.arange(len(images)) % 2 == 1
    return {"jpeg": np.concatenate(packed), "offset": offset, "y": LABELS.astype(np.uint8), "test": test}


def test_jpeg_images_are_decoded_and_split(tmp_path: Path) -> None:
    smooth = np.broadcast_to(np.arange(32, dtype=np.uint8)[:, None, None] * 8, (6, 32, 32, 3)).copy()
    smooth[..., 1] = np.arange(6, dtype=np.uint8)[:, None, None] * 40
    found = read_jpeg(saved(tmp_path / "j.npz", **jpegs(smooth)), 32)
    assert found.train.shape == found.test.shape == (3, 3, 32, 32)
    assert np.abs(found.train.astype(int) - smooth[::2].transpose(0, 3, 1, 2)).max() <= 8
    assert (found.train_labels.tolist(), found.test_labels.tolist()) == ([0, 2, 1], [1, 0, 2])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda a: {"offset": a["offset"][::-1]}, "offset must rise from 0"),
        (lambda a: {"offset": a["offset"] + 1}, "offset must rise from 0"),
        (lambda a: {"offset": a["offset"] - 1}, "offset must rise from 0"),
        (lambda a: {"offset": a["offset"][:1]}, "offset must rise from 0"),
        (lambda a: {"y": a["y"][:5]}, "offset is of 6 images, y has the shape \\(5,\\)"),
        (lambda a: {"test": np.ones(6, dtype=bool)}, "there are no training images"),
        (lambda a: {"jpeg": a["jpeg"][None]}, "jpeg must be one long array of bytes"),
        (
            lambda a: {"jpeg": np.where(np.arange(len(a["jpeg"])) < 10, 0, a["jpeg"]).astype(np.uint8)},
            "image 0 cannot",
        ),
    ],
)
def test_bad_jpeg_files_are_refused(
    tmp_path: Path, change: Callable[[dict[str, NDArray[Any]]], dict[str, NDArray[Any]]], told: str
) -> None:
    arrays = jpegs()
    path = saved(tmp_path / "bad.npz", **{**arrays, **change(arrays)})
    refused(lambda: read_jpeg(path, 32), path, told)


def test_images_of_another_size_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    path = saved(tmp_path / "large.npz", **jpegs(np.zeros((6, 48, 40, 3), dtype=np.uint8)))
    refused(lambda: read_jpeg(path, 32), path, "image 0 is 40 x 48, not 32 x 32")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "j.npz", **jpegs())
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r'needs Pillow.*pip install "tailcut\[images\]"'):
        read_jpeg(path, 32)
