"""MNIST and CIFAR-10: folders, random changes, and real data where TAILCUT_DATA names their folder."""

from __future__ import annotations

import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tailcut.errors import InputError
from tailcut.learning.tasks.cifar10 import cached_images, cifar10, flipped_and_moved
from tailcut.learning.tasks.data import sample_places
from tailcut.learning.tasks.mnist import mnist

FOLDER = os.environ.get("TAILCUT_DATA")
needs_data = pytest.mark.skipif(
    FOLDER is None, reason="TAILCUT_DATA names no folder with mnist/ and cifar10/"
)


def idx(array: NDArray[np.uint8]) -> bytes:
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def idx_folder(folder: Path, side: int = 9) -> Path:
    rng = np.random.default_rng(0)
    for part, count in (("train", 40), ("t10k", 20)):
        images = rng.integers(0, 256, (count, side, side), dtype=np.uint8)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(idx(images))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(idx(np.arange(count, dtype=np.uint8) % 4))
        )
    return folder


def test_mnist_is_read_from_idx_files(tmp_path: Path) -> None:
    task = mnist(folder=str(idx_folder(tmp_path)))
    assert task.data.inputs.shape == (40, 1, 9, 9)
    assert task.data.labels.tolist() == sorted(np.arange(40) % 4)
    assert task.net(0)(task.data.inputs).shape == (40, 4)


def test_mnist_is_read_from_a_npz_file_or_its_folder(tmp_path: Path) -> None:
    x = np.random.default_rng(1).integers(0, 256, (30, 8, 8), dtype=np.uint8)
    y = np.arange(30) % 3
    np.savez(tmp_path / "mnist.npz", x_train=x, y_train=y, x_test=x[:9], y_test=y[:9])
    for folder in (tmp_path, tmp_path / "mnist.npz"):
        assert mnist(folder=str(folder)).data.inputs.shape == (30, 1, 8, 8)


def test_mnist_folders_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"The task mnist needs a folder with .* write mnist:folder=PATH"):
        mnist()
    with pytest.raises(InputError, match="there is no such folder"):
        mnist(folder=str(tmp_path / "nowhere"))
    with pytest.raises(
        InputError, match=r"there is no train-images-idx3-ubyte or train-images-idx3-ubyte\.gz"
    ):
        mnist(folder=str(tmp_path))
    idx_folder(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(InputError, match="there is no t10k-labels-idx1-ubyte"):
        mnist(folder=str(tmp_path))
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(InputError, match="has no x_train"):
        mnist(folder=str(tmp_path / "other.npz"))


def cifar_folder(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(2)
    for name in ("data_batch_1", "test_batch"):
        rows = rng.integers(0, 256, (20, 3073), dtype=np.uint8)
        rows[:, 0] = np.arange(20) % 10
        (folder / f"{name}.bin").write_bytes(rows.tobytes())
    return folder


def test_cifar_is_found_in_the_folder_it_unpacks_to(tmp_path: Path) -> None:
    cifar_folder(tmp_path / "cifar-10-batches-bin")
    task = cifar10(folder=str(tmp_path), width=4)
    assert task.data.inputs.shape == (20, 3, 32, 32)
    assert task.net(0)(task.data.inputs[:2]).shape == (2, 10)


def test_cifar_is_read_once_and_again_when_it_has_changed(tmp_path: Path) -> None:
    x = np.zeros((10, 32, 32, 3), dtype=np.uint8)
    y = np.arange(10)
    path = tmp_path / "c.npz"
    np.savez(path, x_train=x, y_train=y, x_test=x, y_test=y)
    cached_images.cache_clear()
    first, again = (cifar10(folder=str(path), width=4) for _ in range(2))
    assert cached_images.cache_info().hits == 1
    assert int(first.data.inputs.max()) == int(again.data.inputs.max()) == 0
    np.savez(path, x_train=x + 9, y_train=y, x_test=x, y_test=y)
    os.utime(path, ns=(1, 1))
    assert int(cifar10(folder=str(path), width=4).data.inputs.max()) == 9


def test_cifar_folders_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="The task cifar10 needs a folder"):
        cifar10()
    with pytest.raises(InputError, match=r"neither test_batch.bin nor an npz file"):
        cifar10(folder=str(tmp_path))
    np.savez(tmp_path / "a.npz", a=np.zeros(3))
    with pytest.raises(InputError, match="has neither jpeg"):
        cifar10(folder=str(tmp_path))
    x, y = np.zeros((4, 28, 28), dtype=np.uint8), np.arange(4)
    np.savez(tmp_path / "a.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    with pytest.raises(InputError, match=r"images must be 3 x 32 x 32, not \(1, 28, 28\)"):
        cifar10(folder=str(tmp_path))


def moved_by_hand(image: NDArray[np.uint8], down: int, right: int, mirrored: bool) -> NDArray[np.uint8]:
    source = image[:, :, ::-1] if mirrored else image
    side = image.shape[1]
    wide = np.zeros((3, side + 8, side + 8), dtype=np.uint8)
    wide[:, 4:-4, 4:-4] = source
    # Where the image is mirrored, columns run the other way.
    shift = -right if mirrored else right
    return wide[:, 4 + down : 4 + down + side, 4 + shift : 4 + shift + side]


def test_images_are_mirrored_and_moved() -> None:
    images = torch.arange(1, 1 + 300 * 3 * 10 * 10).remainder(255).to(torch.uint8).view(300, 3, 10, 10)
    places = sample_places(np.arange(100), np.zeros(100, dtype=np.int64), 3)
    changed = flipped_and_moved(images, places, seed=0).numpy()
    found = set()
    for before, after in zip(images.numpy(), changed, strict=True):
        ways = [
            way
            for way in ((d, r, m) for d in range(-4, 5) for r in range(-4, 5) for m in (False, True))
            if np.array_equal(moved_by_hand(before, *way), after)
        ]
        assert len(ways) == 1
        found.add(ways[0])
    assert {down for down, _, _ in found} == {right for _, right, _ in found} == set(range(-4, 5))
    assert {mirrored for _, _, mirrored in found} == {False, True}
    assert len(found) > 100


def test_changes_depend_on_place_and_seed_alone_and_can_be_left_out(tmp_path: Path) -> None:
    folder = str(cifar_folder(tmp_path / "c"))
    task, plain = cifar10(folder=folder, width=4), cifar10(folder=folder, width=4, change=False)
    workers, numbers = np.arange(5), np.arange(5)
    changed, labels = task.batches(workers, numbers, 2, seed=0)
    assert torch.equal(changed[6:8], task.batches(workers[3:4], numbers[3:4], 2, seed=0)[0])
    same, same_labels = plain.batches(workers, numbers, 2, seed=0)
    assert torch.equal(labels, same_labels)
    known = {image.numpy().tobytes() for image in plain.data.inputs}
    assert all(image.numpy().tobytes() in known for image in same)
    assert not any(image.numpy().tobytes() in known for image in changed)


@pytest.mark.data
@needs_data
def test_on_mnist() -> None:
    assert FOLDER is not None
    task = mnist(folder=str(Path(FOLDER, "mnist")))
    assert (len(task.data.labels), len(task.data.test_labels)) == (60_000, 10_000)
    net = task.net(0)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.005)
    for number in range(30):
        optimiser.zero_grad()
        task.losses(net, task.batches(np.arange(64), np.full(64, number), 4, seed=0)).mean().backward()
        optimiser.step()
    assert task.evaluate(net)["accuracy"] > 0.85


@pytest.mark.data
@needs_data
def test_on_cifar10() -> None:
    assert FOLDER is not None
    task = cifar10(folder=str(Path(FOLDER, "cifar10")))
    assert (len(task.data.labels), len(task.data.test_labels)) == (50_000, 10_000)
    assert torch.bincount(task.data.labels).tolist() == [5000] * 10
    means = task.data.inputs[::50].float().mean((0, 2, 3))
    assert means.tolist() == pytest.approx([125.3, 123.0, 113.9], abs=3.0)
