"""CIFAR-10 in its binary version: records of one label and three planes of 32 × 32 bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tailcut.learning.tasks.readers.files import read_bytes, wrong
from tailcut.learning.tasks.readers.images import Images, images_of

SIDE, RECORD = 32, 1 + 3 * 32 * 32
TEST = "test_batch.bin"


def read_cifar(folder: Path) -> Images:
    """All `data_batch_*.bin` of a folder in the order of their names, and `test_batch.bin`."""
    paths = sorted(folder.glob("data_batch_*.bin"))
    if not paths:
        raise wrong(folder, "there is no data_batch_*.bin", "unpack cifar-10-binary.tar.gz there")
    x, y = zip(*(read_records(path) for path in paths), strict=True)
    test_x, test_y = read_records(folder / TEST)
    return images_of(folder, np.concatenate(x), np.concatenate(y), test_x, test_y)


def read_records(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """`(n, 3, 32, 32)` images and `(n,)` labels of one file."""
    raw = read_bytes(path)
    if not raw or len(raw) % RECORD:
        problem = f"must be a multiple of {RECORD} bytes long, but has {len(raw):,}"
        raise wrong(path, problem, "copy it again, from the binary version of CIFAR-10")
    records = np.frombuffer(raw, np.uint8).reshape(-1, RECORD)
    if records[:, 0].max() > 9:
        row = int(np.argmax(records[:, 0] > 9))
        problem = f"labels must lie between 0 and 9, but record {row} has {records[row, 0]}"
        raise wrong(path, problem, "copy it again, from the binary version of CIFAR-10, not CIFAR-100")
    return records[:, 1:].reshape(-1, 3, SIDE, SIDE), records[:, 0]
