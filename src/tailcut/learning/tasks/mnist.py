"""MNIST, or any other set of small images in its format (Fashion-MNIST, KMNIST, EMNIST)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from tailcut.learning.nets import Standardised, convolutional_net
from tailcut.learning.tasks.base import Target
from tailcut.learning.tasks.checks import between, whole
from tailcut.learning.tasks.data import Dataset, DataTask
from tailcut.learning.tasks.readers.files import data_folder, find, wrong
from tailcut.learning.tasks.readers.idx import read_idx
from tailcut.learning.tasks.readers.images import Images, images_of, npz_images
from tailcut.learning.tasks.shares import Shares

HOLDS = (
    "the four idx files of MNIST (gzipped or not) or one npz file with x_train, y_train, x_test and y_test"
)
PARTS = (("train", "images", 3), ("train", "labels", 1), ("t10k", "images", 3), ("t10k", "labels", 1))


def mnist(
    *,
    folder: str = "",
    batch: int = 4,
    channels: int = 16,
    goal: float = 0.98,
    skew: float = 0.0,
    of: int = 1,
    device: str = "cpu",
) -> DataTask:
    """MNIST from a folder (folder=PATH), a small convolutional net.

    Args:
        folder: folder with the four idx files, gzipped or not, or one npz file in Keras' layout.
        batch: samples in a worker's mini-batch.
        channels: channels of the second of two convolutions; the first has half as many.
        goal: test accuracy at which a run has reached its target.
        skew: as in `Shares`; 1: each worker has digits of its own.
        of: workers that the data is split over.
        device: device to train on.
    """
    whole("channels", channels)
    between("goal", goal, 0.0, 1.0)
    images = read_mnist(data_folder("mnist", folder, HOLDS))
    data = dataset_of(images).sorted().to(device)
    make = partial(image_net, images.train.shape[1:], *_moments(images), channels, images.classes)
    return DataTask(data, make, Target("accuracy", goal, "least"), batch, shares=Shares(skew, of))


def image_net(
    shape: tuple[int, int, int], mean: float, spread: float, channels: int, classes: int
) -> nn.Module:
    """Make a net from `(samples, 1, height, width)` bytes to log-odds of the classes."""
    return nn.Sequential(Standardised((mean,), (spread,)), convolutional_net(shape, channels, classes))


def _moments(images: Images) -> tuple[float, float]:
    """Return the mean and the standard deviation of the training pixels; the latter is at least 1."""
    return float(images.train.mean()), max(float(images.train.std()), 1.0)


def dataset_of(images: Images) -> Dataset:
    """Return images as a data set of tensors; images stay bytes."""
    parts = (images.train, images.train_labels, images.test, images.test_labels)
    return Dataset(*(torch.from_numpy(np.array(part)) for part in parts))


def read_mnist(folder: Path) -> Images:
    """Read a folder with four idx files, a folder with one npz file, or the npz file itself."""
    packed = [folder] if folder.is_file() else sorted(folder.glob("*.npz"))
    found = [find(folder, _names(part, what, dimensions)) for part, what, dimensions in PARTS]
    if all(path is None for path in found) and packed:
        images = npz_images(packed[0])
        if images is None:
            raise wrong(
                packed[0], "has no x_train, y_train, x_test and y_test", f"name a folder with {HOLDS}"
            )
        return images
    arrays = []
    for path, (part, what, dimensions) in zip(found, PARTS, strict=True):
        if path is None:
            missing = _names(part, what, dimensions)[0]
            raise wrong(folder, f"there is no {missing} or {missing}.gz", f"name a folder with {HOLDS}")
        arrays.append(read_idx(path, dimensions))
    x, y, test_x, test_y = arrays
    return images_of(folder, x[:, None], y, test_x[:, None], test_y)


def _names(part: str, what: str, dimensions: int) -> tuple[str, ...]:
    plain = (f"{part}-{what}-idx{dimensions}-ubyte", f"{part}-{what}.idx{dimensions}-ubyte")
    return plain + tuple(f"{name}.gz" for name in plain)
