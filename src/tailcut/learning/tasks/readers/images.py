"""Labeled images, split into a training part and a held-out part, for all file formats."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut.learning.tasks.readers.files import wrong
from tailcut.learning.tasks.readers.npz import array_names, read_arrays
from tailcut.types import IntArray

SPLIT = ("x_train", "y_train", "x_test", "y_test")
"""Names of the arrays of an npz file in Keras' layout."""


@dataclass(frozen=True, slots=True, eq=False)
class Images:
    """Labeled images.

    Attributes:
        train, test: `(n, channels, height, width)` bytes.
        train_labels, test_labels: `(n,)` classes, from 0 on.
    """

    train: NDArray[np.uint8]
    train_labels: IntArray
    test: NDArray[np.uint8]
    test_labels: IntArray

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.train_labels.max()) + 1


def images_of(
    path: Path, x: NDArray[Any], y: NDArray[Any], test_x: NDArray[Any], test_y: NDArray[Any]
) -> Images:
    """Check and return the four parts: training and test images need one shape and the same classes."""
    for what, images, labels in (("training", x, y), ("test", test_x, test_y)):
        if len(images) == 0:
            raise wrong(path, f"there are no {what} images", "name a complete data set")
        if len(images) != len(labels):
            problem = f"there are {len(images)} {what} images and {len(labels)} labels"
            raise wrong(path, problem, "name files that belong together")
    if x.shape[1:] != test_x.shape[1:]:
        problem = f"training images are {x.shape[1:]}, test images {test_x.shape[1:]} large"
        raise wrong(path, problem, "name files that belong together")
    if min(y.min(), test_y.min()) < 0 or y.max() > 255:
        raise wrong(path, "labels must lie between 0 and 255", "number the classes from 0 on")
    if test_y.max() > y.max():
        raise wrong(path, f"no training image has the test label {test_y.max()}", "name a complete data set")
    return Images(x, y.astype(np.int64), test_x, test_y.astype(np.int64))


def npz_images(path: Path) -> Images | None:
    """Read the images of an npz file in Keras' layout; None if it has another layout."""
    if not set(SPLIT) <= array_names(path):
        return None
    found = read_arrays(path, {"x_train": "u", "y_train": "ui", "x_test": "u", "y_test": "ui"})
    x, test_x = (_planes(path, name, found[name]) for name in ("x_train", "x_test"))
    # CIFAR-10 has its labels in a column.
    y, test_y = (_column(path, name, found[name]) for name in ("y_train", "y_test"))
    return images_of(path, x, y, test_x, test_y)


def _planes(path: Path, name: str, images: NDArray[Any]) -> NDArray[np.uint8]:
    """Return `(n, channels, height, width)` from that shape, from channels last, or from no channels."""
    if images.dtype != np.uint8:
        raise wrong(path, f"{name} must hold bytes, but its type is {images.dtype}", "convert it to uint8")
    if images.ndim == 3:
        return images[:, None]
    if images.ndim == 4:
        return np.moveaxis(images, 3, 1) if images.shape[3] in (1, 3) else images
    problem = f"{name} must have 3 or 4 dimensions, but has the shape {images.shape}"
    raise wrong(path, problem, "save images as (n, height, width) or (n, height, width, channels)")


def _column(path: Path, name: str, labels: NDArray[Any]) -> NDArray[Any]:
    if labels.ndim == 1 or (labels.ndim == 2 and labels.shape[1] == 1):
        return labels.reshape(-1)
    raise wrong(path, f"{name} must be one label a sample, but has the shape {labels.shape}", "reshape it")
