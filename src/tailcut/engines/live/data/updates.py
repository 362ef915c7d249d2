"""The updates that every replica applies, in order, and their bytes, for late workers.

On the wire an update is two frames: a head (checksum, then msgpack of the declared types) and the raw vector. The
checksum covers both. Never pickle.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import final

import msgspec
import numpy as np
import torch
from torch import Tensor

from tailcut.engines.live.data.trailer import LENGTH, Closed, samples_in
from tailcut.errors import TailcutError

CHAIN = 16
"""Length of a chain (a hash of the history), in bytes."""
START = bytes(CHAIN)
"""The chain of a log without updates."""
MOST_HEAD = 1 << 20
"""Most bytes of a head."""
_CHECKSUM = struct.Struct(">I")


class UpdateError(TailcutError):
    """Bytes that are no update, or an update that does not follow."""


def link(chain: bytes, term: int, epoch: int, version: int, accepted: tuple[int, ...]) -> bytes:
    """Return the chain after an update: equal chains stand for equal histories.

    Epochs begin anew with the term of a controller that finds no worker of the one before it.

    Example:
        >>> once = link(START, 1, 1, 0, (0, 1))
        >>> once == link(START, 1, 1, 0, (1, 0)), len(link(once, 1, 1, 1, (0, 1)))
        (False, 16)
    """
    what = struct.pack(f">QQQ{len(accepted)}Q", term, epoch, version, *accepted)
    return blake2b(chain + what, digest_size=CHAIN).digest()


@final
@dataclass(frozen=True, eq=False)
class Update:
    """One update.

    Attributes:
        term, epoch: term and epoch that it was made in.
        version: version of the round; the update makes version + 1.
        accepted: workers in it, in the order of the ring.
        scale: factor on the learning rate.
        samples: samples of all accepted workers, which the sums in `flat` are divided by.
        chain: chain of the log, up to and with this update.
        flat: the reduced vector of `FlatBuffer`, on the host. It is not changed any more.
        options: options of the optimizer to apply it with, packed by `options.py`; empty for those that are
            set.
    """

    term: int
    epoch: int
    version: int
    accepted: tuple[int, ...]
    scale: float
    samples: int
    chain: bytes
    flat: Tensor
    options: bytes = b""

    @classmethod
    def made(cls, closed: Closed, flat: Tensor, before: bytes, options: bytes = b"") -> Update:
        """Return the update that a reduction under a `Close` made; raise if the trailer says otherwise.

        Args:
            closed: the `Close`.
            flat: the reduced vector.
            before: chain of the log without it.
            options: packed options of the optimizer to apply it with.
        """
        chain = link(before, closed.term, closed.epoch, closed.version, closed.accepted)
        samples = samples_in(flat[-LENGTH:].tolist(), closed)
        how = (closed.term, closed.epoch, closed.version, closed.accepted, closed.scale)
        return cls(*how, samples, chain, flat, options)

    def follows(self, chain: bytes) -> bool:
        """Return whether it is the next update of a log with that chain."""
        return self.chain == link(chain, self.term, self.epoch, self.version, self.accepted)

    @property
    def nbytes(self) -> int:
        """Return the bytes of memory that it takes, about."""
        return self.flat.nbytes + len(self.options)

    @property
    def raw(self) -> memoryview:
        """Return the second frame: the vector's memory, without a copy."""
        return self.flat.numpy().data.cast("B")

    @cached_property
    def head(self) -> bytes:
        """Return the first frame."""
        kind = _kind(self.flat.dtype)
        how = (self.term, self.epoch, self.version, self.accepted, self.scale)
        packed = _encoder.encode(_Head(*how, self.samples, self.chain, kind, len(self.flat), self.options))
        return _CHECKSUM.pack(zlib.crc32(self.raw, zlib.crc32(packed))) + packed


def read(head: bytes, raw: memoryview, into: Tensor) -> Update:
    """Return the update in two frames, or raise an error unless it is whole and fits this net.

    Args:
        head: the first frame.
        raw: the second.
        into: a vector of this net, to hold the numbers.
    """
    packed = memoryview(head)[_CHECKSUM.size :]
    view = raw.cast("B")
    if not 0 < len(packed) <= MOST_HEAD:
        raise UpdateError(
            f"The head of an update has {len(head)} bytes; from 5 to {MOST_HEAD} were expected."
        )
    kind, length = _kind(into.dtype), len(into)
    if len(view) != length * np.dtype(kind).itemsize:
        raise UpdateError(f"An update of {len(view)} bytes came; this net's have {length} numbers {kind!r}.")
    if _CHECKSUM.unpack_from(head)[0] != zlib.crc32(view, zlib.crc32(packed)):
        raise UpdateError("The checksum of an update is wrong: it was damaged on its way.")
    try:
        found = _decoder.decode(packed)
    except (ValueError, RecursionError) as problem:
        raise UpdateError(f"The head of an update could not be read: {problem}.") from problem
    if (found.kind, found.length) != (kind, length):
        raise UpdateError(
            f"An update of {found.length} numbers {found.kind!r} came; this net's have {length} numbers {kind!r}."
        )
    np.copyto(into.numpy(), np.frombuffer(view, dtype=kind))
    how = (found.term, found.epoch, found.version, found.accepted, found.scale)
    return Update(*how, found.samples, found.chain, into, found.options)


class _Head(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    term: int
    epoch: int
    version: int
    accepted: tuple[int, ...]
    scale: float
    samples: int
    chain: bytes
    kind: str
    length: int
    options: bytes


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Head)


def _kind(dtype: torch.dtype) -> str:
    """Return the type of elements and the byte order, as numpy writes them."""
    return np.dtype(str(dtype).removeprefix("torch.")).str
