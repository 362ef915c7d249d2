"""Messages as bytes: a version, then msgpack of the declared types. Never pickle; what does not fit is refused.

Example:
    >>> from tailcut.engines.live.messages import Bye
    >>> frame = encode(Bye(term=1, epoch=2, worker=3, version=4))
    >>> decode(frame, FROM_WORKER)
    Bye(term=1, epoch=2, worker=3, version=4)
    >>> decode(frame, FROM_CONTROLLER)
    Traceback (most recent call last):
      ...
    tailcut.engines.live.wire.WireError: A message could not be read: Invalid value 'Bye' - at `$[0]`.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from tailcut.engines.live.messages import BetweenWorkers, FromController, FromWorker, Message
from tailcut.errors import TailcutError

VERSION = 1
"""Version of the format. Both sides must have the same."""
MOST_BYTES = 1 << 20
"""Longest message, in bytes. Gradients do not travel in messages."""

Kind = TypeVar("Kind")


class WireError(TailcutError):
    """Bytes that are no message."""


class Reader(Generic[Kind]):
    """Reads messages of some types and no others."""

    def __init__(self, kinds: object) -> None:
        self._decoder: msgspec.msgpack.Decoder[Kind] = msgspec.msgpack.Decoder(kinds)

    def read(self, frame: bytes) -> Kind:
        """Return the message in a frame."""
        if not 1 < len(frame) <= MOST_BYTES:
            raise WireError(f"A message of {len(frame)} bytes came; they have from 2 to {MOST_BYTES}.")
        if frame[0] != VERSION:
            raise WireError(
                f"A message in format {frame[0]} came, this is format {VERSION}. Install the same tailcut everywhere."
            )
        try:
            return self._decoder.decode(memoryview(frame)[1:])
        except (ValueError, RecursionError) as problem:
            # Invalid messages and invalid UTF-8 raise ValueErrors, too deep nesting a RecursionError.
            raise WireError(f"A message could not be read: {problem}.") from problem


FROM_WORKER: Reader[FromWorker] = Reader(FromWorker)
FROM_CONTROLLER: Reader[FromController] = Reader(FromController)
BETWEEN_WORKERS: Reader[BetweenWorkers] = Reader(BetweenWorkers)
_encoder = msgspec.msgpack.Encoder()


def encode(message: Message) -> bytes:
    """Return a message as bytes."""
    frame = bytes((VERSION,)) + _encoder.encode(message)
    if len(frame) > MOST_BYTES:
        raise WireError(f"A {type(message).__name__} of {len(frame)} bytes is longer than {MOST_BYTES}.")
    return frame


def decode(frame: bytes, reader: Reader[Kind]) -> Kind:
    """Return the message in a frame, of the reader's types."""
    return reader.read(frame)
