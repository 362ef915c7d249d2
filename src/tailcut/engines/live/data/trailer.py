"""The trailer of a reduction: numbers summed along with the gradients that tell whether all meant the same round.

A worker that missed a `Close` and reduces for another round would be silent corruption: a sum comes out, and is wrong.
So every worker appends the round, a digest of the `Close`, a one, and its samples, cut into pieces of 12 bits. Sums
of 4,096 such pieces stay under 2**24, so they are exact in single precision in any order of addition, and every worker
can compare them with its own pieces times the number of accepted workers.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol

from tailcut.errors import ParameterError, TailcutError

BITS = 12
"""Bits of one piece."""
MOST_WORKERS = 1 << BITS
"""Most workers that may be accepted: sums of more pieces would no longer be exact."""
_VERSION, _DIGEST, _COUNT, _SAMPLES = 4, 8, 1, 3
LENGTH = _VERSION + _DIGEST + _COUNT + _SAMPLES
"""Numbers of a trailer."""
MOST_SAMPLES = (1 << BITS * _SAMPLES) - 1
"""Most samples of one worker in one round."""


class TrailerError(TailcutError):
    """A reduction to which not all workers contributed the same round."""


class Closed(Protocol):
    """The round that a trailer stands for: a `Close` message, or an update made under one."""

    @property
    def term(self) -> int:
        """Return the term of the controller."""

    @property
    def epoch(self) -> int:
        """Return the epoch of the membership."""

    @property
    def version(self) -> int:
        """Return the version of the round."""

    @property
    def accepted(self) -> tuple[int, ...]:
        """Return the accepted workers, in the order of the ring."""

    @property
    def scale(self) -> float:
        """Return the factor on the learning rate."""


def trailer(closed: Closed, samples: int) -> list[int]:
    """Return the trailer that one worker appends: `LENGTH` whole numbers under 4,096.

    Example:
        >>> from tailcut.engines.live.messages import Close
        >>> close = Close(term=1, epoch=1, version=5000, accepted=(2, 0), scale=1.0, abandon=())
        >>> sums = [a + b for a, b in zip(trailer(close, 32), trailer(close, 20), strict=True)]
        >>> sums[:4]
        [1808, 2, 0, 0]
        >>> samples_in(sums, close)
        52
    """
    if not 1 <= len(closed.accepted) <= MOST_WORKERS:
        raise ParameterError(
            f"One update can take from 1 to {MOST_WORKERS} gradients, but got {len(closed.accepted)}."
        )
    if not 1 <= samples <= MOST_SAMPLES:
        raise ParameterError(
            f"A gradient must be the mean over 1 to {MOST_SAMPLES} samples, but got samples={samples}."
        )
    return [*_meant(closed), 1, *_cut(samples, _SAMPLES)]


def samples_in(sums: Sequence[float], closed: Closed) -> int:
    """Return the samples of all accepted workers, from summed trailers; raise if not of this `Close`."""
    whole = [_whole(each, closed) for each in sums]
    count = len(closed.accepted)
    if whole[:-_SAMPLES] != [*(count * piece for piece in _meant(closed)), count]:
        raise _error(closed, _mistake(whole, closed))
    samples = sum(piece << BITS * place for place, piece in enumerate(whole[-_SAMPLES:]))
    if samples < count:
        raise _error(closed, f"{count} workers contributed only {samples} samples")
    return samples


def _mistake(whole: Sequence[int], closed: Closed) -> str:
    """Return what is wrong with sums that are not those of this `Close`."""
    count, wanted = whole[_VERSION + _DIGEST], len(closed.accepted)
    if count != wanted:
        return f"{count} workers contributed, but {wanted} were accepted"
    is_round = list(whole[:_VERSION]) != [count * piece for piece in _meant(closed)[:_VERSION]]
    kind = "round" if is_round else "Close"
    return f"not all of workers {_listed(closed.accepted)} meant the same {kind}"


def digest(closed: Closed) -> bytes:
    """Return 12 bytes that stand for a `Close`: term, epoch, version, accepted workers in order, scale."""
    return _digest(closed.term, closed.epoch, closed.version, closed.accepted, closed.scale)


def _digest(term: int, epoch: int, version: int, accepted: tuple[int, ...], scale: float) -> bytes:
    head = struct.pack(">QQQd", term, epoch, version, scale)
    ring = struct.pack(f">{len(accepted)}Q", *accepted)
    return blake2b(head + ring, digest_size=_DIGEST * BITS // 8).digest()


def _meant(closed: Closed) -> tuple[int, ...]:
    return _pieces(closed.term, closed.epoch, closed.version, closed.accepted, closed.scale)


@lru_cache(maxsize=4)
def _pieces(term: int, epoch: int, version: int, accepted: tuple[int, ...], scale: float) -> tuple[int, ...]:
    """Return the pieces of round and digest, cached: a worker needs them before and after it reduces."""
    number = int.from_bytes(_digest(term, epoch, version, accepted, scale), "little")
    return (*_cut(version, _VERSION), *_cut(number, _DIGEST))


def _cut(number: int, pieces: int) -> list[int]:
    """Return the pieces of a number, lowest first."""
    return [number >> BITS * place & MOST_WORKERS - 1 for place in range(pieces)]


def _whole(value: float, closed: Closed) -> int:
    if not (float(value).is_integer() and 0 <= value < 1 << 2 * BITS):
        raise _error(closed, f"its trailer holds {value}, which is no sum of pieces")
    return int(value)


def _listed(workers: Sequence[int], most: int = 8) -> str:
    shown = ", ".join(map(str, workers[:most]))
    return shown if len(workers) <= most else f"{shown} … ({len(workers)})"


def _error(closed: Closed, problem: str) -> TrailerError:
    return TrailerError(
        f"The reduction of round {closed.version} cannot be used: {problem}. "
        "Nothing of it was applied; it must be repeated in a new epoch, from the gradients as they were."
    )
