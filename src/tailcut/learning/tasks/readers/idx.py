"""The idx format of MNIST: four bytes of kind, big-endian sizes, then bytes.

| bytes | meaning |
|---|---|
| 0, 1 | zero |
| 2 | type of the entries; 8: unsigned bytes, the only one taken here |
| 3 | number of dimensions |
| 4 each | the size of every dimension |
| rest | the entries, last dimension fastest |
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tailcut.learning.tasks.readers.files import MAX_BYTES, read_bytes, wrong


def read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """The array in an idx file, gzipped or not, which must have that many dimensions."""
    raw = read_bytes(path, MAX_BYTES + 4 + 4 * dimensions)
    start = 4 + 4 * dimensions
    if len(raw) < start:
        raise wrong(
            path, f"has only {len(raw)} bytes, too few for the header of an idx file", "copy it again"
        )
    magic = bytes((0, 0, 8, dimensions))
    if raw[:4] != magic:
        problem = f"must begin with the bytes {magic.hex(' ')}, but begins with {raw[:4].hex(' ')}"
        remedy = f"name an idx file of unsigned bytes with {dimensions} dimension{'s' * (dimensions > 1)}"
        raise wrong(path, problem, remedy)
    shape = struct.unpack(f">{dimensions}I", raw[4:start])
    claimed, held = math.prod(shape), len(raw) - start
    if claimed != held:
        problem = (
            f"its header claims {' x '.join(map(str, shape))} = {claimed:,} bytes, the file holds {held:,}"
        )
        raise wrong(path, problem, "copy it again")
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape)
