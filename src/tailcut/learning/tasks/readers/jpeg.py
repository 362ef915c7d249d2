"""Images as JPEG bytes in one npz file.

Arrays `jpeg` (all bytes, one image after the other), `offset` (image i is `jpeg[offset[i]:offset[i + 1]]`), `y` (its
class) and `test` (whether it is held out).
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tailcut.extras import require
from tailcut.learning.tasks.readers.files import wrong
from tailcut.learning.tasks.readers.images import Images, images_of
from tailcut.learning.tasks.readers.npz import array_names, read_arrays
from tailcut.types import IntArray

ARRAYS = {"jpeg": "u", "offset": "iu", "y": "iu", "test": "b"}


def is_jpeg(path: Path) -> bool:
    """Return whether an npz file has the arrays of this layout."""
    return set(ARRAYS) <= array_names(path)


def read_jpeg(path: Path, side: int) -> Images:
    """Read and decode all images of a file; each must be `side` × `side` pixels."""
    arrays = read_arrays(path, ARRAYS)
    offset, y, test = arrays["offset"].astype(np.int64), arrays["y"], arrays["test"]
    if arrays["jpeg"].ndim != 1 or arrays["jpeg"].dtype != np.uint8:
        raise wrong(path, "jpeg must be one long array of bytes", "save it as uint8")
    _check_offsets(path, offset, len(arrays["jpeg"]))
    if not (y.shape == test.shape == (len(offset) - 1,)):
        problem = f"offset is of {len(offset) - 1} images, y has the shape {y.shape} and test {test.shape}"
        raise wrong(path, problem, "save one y and one test for every image")
    images = decoded(path, arrays["jpeg"], offset, side)
    return images_of(path, images[~test], y[~test], images[test], y[test])


def _check_offsets(path: Path, offset: IntArray, held: int) -> None:
    right = offset.ndim == 1 and len(offset) > 1 and offset[0] >= 0 and offset[-1] <= held
    if not (right and (np.diff(offset) > 0).all()):
        raise wrong(path, f"offset must rise from 0 to at most the {held:,} bytes of jpeg", "save it again")


def decoded(path: Path, jpeg: NDArray[np.uint8], offset: IntArray, side: int) -> NDArray[np.uint8]:
    """`(n, 3, side, side)` bytes."""
    require("Reading JPEG images", "PIL")
    from PIL import Image

    out = np.empty((len(offset) - 1, side, side, 3), dtype=np.uint8)
    for number in range(len(out)):
        try:
            image = Image.open(
                io.BytesIO(jpeg[offset[number] : offset[number + 1]].tobytes()), formats=["JPEG"]
            )
            # Check the size before decoding: a few bytes can claim to be a huge image.
            size = image.size
            if size == (side, side):
                out[number] = np.asarray(image.convert("RGB"))
        except Exception as error:  # Pillow raises many kinds on what was cut or altered.
            raise wrong(path, f"image {number} cannot be decoded", "write or copy the file again") from error
        if size != (side, side):
            raise wrong(path, f"image {number} is {size[0]} x {size[1]}, not {side} x {side}", "scale it")
    return np.ascontiguousarray(out.transpose(0, 3, 1, 2))
