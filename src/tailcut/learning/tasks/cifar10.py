"""CIFAR-10 with a small residual net, sized for a GPU."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from tailcut.learning import draws
from tailcut.learning.nets import Standardised, residual_net
from tailcut.learning.tasks.base import Target
from tailcut.learning.tasks.checks import between, whole
from tailcut.learning.tasks.data import DataTask
from tailcut.learning.tasks.mnist import dataset_of
from tailcut.learning.tasks.readers.cifar import SIDE, TEST, read_cifar
from tailcut.learning.tasks.readers.files import data_folder, wrong
from tailcut.learning.tasks.readers.images import Images, npz_images
from tailcut.learning.tasks.readers.jpeg import is_jpeg, read_jpeg
from tailcut.learning.tasks.shares import Shares
from tailcut.types import IntArray

HOLDS = "data_batch_1.bin … data_batch_5.bin and test_batch.bin, or one npz file"
MEAN, SPREAD = (125.3, 123.0, 113.9), (63.0, 62.1, 66.7)
"""Mean and standard deviation of the three color channels, from 0 to 255."""
EDGE = 4
"""Most pixels by which a crop moves."""
FLIP, DOWN, RIGHT = 3, 4, 5


def cifar10(
    *,
    folder: str = "",
    batch: int = 4,
    width: int = 32,
    blocks: int = 1,
    change: bool = True,
    goal: float = 0.75,
    skew: float = 0.0,
    of: int = 1,
    device: str = "cpu",
) -> DataTask:
    """CIFAR-10 from a folder (folder=PATH), a residual net with group norms; wants device=cuda.

    Args:
        folder: folder with the files of the binary version, or one npz file: x_train, y_train, x_test,
            y_test, or JPEG bytes in `jpeg`, `offset`, `y` and `test`.
        batch: samples in a worker's mini-batch.
        width: channels of the first of four stages.
        blocks: residual blocks in each of the last three stages.
        change: flip half of the training images and move each by up to 4 pixels, at random.
        goal: test accuracy at which a run has reached its target.
        skew: as in `Shares`; 1: each worker has classes of its own.
        of: workers that the data is split over.
        device: device to train on.
    """
    whole("width", width)
    whole("blocks", blocks)
    between("goal", goal, 0.0, 1.0)
    path = data_folder("cifar10", folder, HOLDS)
    images = cached_images(str(_file(path)), _stamp(_file(path)))
    if images.train.shape[1:] != (3, SIDE, SIDE):
        raise wrong(
            path, f"images must be 3 x {SIDE} x {SIDE}, not {images.train.shape[1:]}", "name CIFAR-10"
        )
    return DataTask(
        dataset_of(images).sorted().to(device),
        partial(colour_net, width, blocks, images.classes),
        Target("accuracy", goal, "least"),
        batch,
        shares=Shares(skew, of),
        change=flipped_and_moved if change else None,
    )


def colour_net(width: int, blocks: int, classes: int) -> nn.Module:
    """Make a net from `(samples, 3, 32, 32)` bytes to log-odds of the classes."""
    return nn.Sequential(Standardised(MEAN, SPREAD), residual_net(width, blocks, classes))


def flipped_and_moved(images: Tensor, places: IntArray, seed: int) -> Tensor:
    """Mirror half of the images, and move each by up to 4 pixels in each direction; fill with black."""
    samples, _, height, width = images.shape
    device = images.device
    down, right = (draws.below(2 * EDGE + 1, seed, *places, stream) - EDGE for stream in (DOWN, RIGHT))
    mirrored = draws.below(2, seed, *places, FLIP)[:, None] == 1
    rows = np.arange(height) + down[:, None]
    columns = np.where(mirrored, np.arange(width)[::-1], np.arange(width)) + right[:, None]
    seen = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
    row, column, inside = (
        torch.from_numpy(part).to(device)
        for part in (rows.clip(0, height - 1), columns.clip(0, width - 1), seen)
    )
    which = torch.arange(samples, device=device)[:, None, None]
    moved = images[which, :, row[:, :, None], column[:, None, :]]
    return (moved * inside[..., None]).permute(0, 3, 1, 2)


@lru_cache(maxsize=1)
def cached_images(path: str, stamp: tuple[int, int]) -> Images:
    """Read a folder or npz file; cached, because 60,000 JPEG images take seconds to decode."""
    del stamp  # Only part of the cache key, so that a changed file is read again.
    place = Path(path)
    if place.is_dir():
        return read_cifar(place)
    if is_jpeg(place):
        return read_jpeg(place, SIDE)
    images = npz_images(place)
    if images is None:
        raise wrong(
            place, "has neither jpeg, offset, y, test nor x_train, y_train, x_test, y_test", f"name {HOLDS}"
        )
    return images


def _file(path: Path) -> Path:
    """Return the folder with the binary files, which may be a subfolder, or the npz file."""
    if path.is_file():
        return path
    for folder in (path, path / "cifar-10-batches-bin"):
        if (folder / TEST).is_file():
            return folder
    packed = sorted(path.glob("*.npz"))
    if not packed:
        raise wrong(path, f"there is neither {TEST} nor an npz file", f"name a folder with {HOLDS}")
    return packed[0]


def _stamp(path: Path) -> tuple[int, int]:
    """Return a file's time of modification, in nanoseconds, and its size, in bytes."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size
