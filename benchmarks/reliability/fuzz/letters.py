"""Messages of an attacker, drawn from a seed: of several kinds, each made from messages of honest workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

import msgspec
import numpy as np

from tailcut.engines.live.messages import (
    Alike,
    Applied,
    Arrived,
    Bye,
    Close,
    Copy,
    Hello,
    Here,
    Meet,
    New,
    NotYet,
    Over,
    Pull,
    Scatter,
    State,
    Stop,
    Where,
)
from tailcut.engines.live.wire import encode

SHARES = {
    "random": 0.2,
    "truncated": 0.2,
    "oversized": 0.01,
    "replayed": 0.24,
    "mutated": 0.25,
    "nonsense": 0.1,
}
TYPES = {
    "controller": (Hello, Meet, Arrived, Applied, Bye, State, New, Close, Over, Stop, Pull),
    "updates": (Pull, Copy, NotYet, Where, Here, Hello, Close),
}
"""Message types of the kind `nonsense`, by port; some are never sent to that port in a real run."""
WHOLE = (0, 1, -1, 2, 3, 7, 255, 2**31, 2**32, 2**53, 2**63 - 1, -(2**63))
LIKELY = {"term": (1,), "epoch": (1,), "worker": (0, 1, 2), "workers": (3,)}
REAL = (0.0, -0.0, 1.0, -1.0, 1e-300, 1e308, float("inf"), float("-inf"), float("nan"))


@dataclass(frozen=True)
class Letter:
    """One message, in one part or several."""

    kind: str
    parts: tuple[bytes, ...]


class Forger:
    """A source of forged messages for one port.

    Args:
        port: `controller` or `updates`.
        said: messages that honest workers have sent to the port.
        most: largest message that the port accepts, in bytes.
        random: source of all draws.
    """

    def __init__(self, port: str, said: Sequence[bytes], most: int, random: np.random.Generator) -> None:
        self._port, self._said, self._most, self._random = port, said, most, random

    def letters(self, count: int) -> list[Letter]:
        """Return `count` messages, the oversized ones last, because the server reads nothing after them."""
        kinds = self._random.choice(list(SHARES), size=count, p=list(SHARES.values()))
        made = [Letter(str(kind), self._parts(str(kind))) for kind in kinds]
        return sorted(made, key=lambda each: each.kind == "oversized")

    def _parts(self, kind: str) -> tuple[bytes, ...]:
        whole = self._one_said()
        match kind:
            case "random":
                parts = (self._bytes(self._below(200)),)
            case "truncated":
                parts = (whole[: self._below(len(whole))],)
            case "oversized":
                parts = (self._bytes(self._most + 1 + self._below(self._most // 2)),)
            case "replayed":
                parts = (whole,)
            case "mutated":
                parts = (self._mutated(bytearray(whole)),)
            case _:
                parts = (encode(self._nonsense()),)
        if self._random.random() < 0.05:
            return (*parts, *(self._one_said() for _ in range(self._below(4))))
        return parts

    def _mutated(self, frame: bytearray) -> bytes:
        for _ in range(1 + self._below(4)):
            place = self._below(max(len(frame), 1))
            match self._below(4):
                case 0 if frame:
                    frame[place] ^= 1 << self._below(8)
                case 1:
                    frame[place:place] = self._bytes(1 + self._below(8))
                case 2:
                    del frame[place : place + 1 + self._below(8)]
                case _:
                    other = self._one_said()
                    frame[place:] = other[place:]
        return bytes(frame)

    def _nonsense(self) -> Any:
        kind = TYPES[self._port][self._below(len(TYPES[self._port]))]
        return kind(*(self._field(each.name, each.type) for each in msgspec.structs.fields(kind)))

    def _field(self, name: str, kind: Any) -> Any:
        """Return a field's value, often one of the run, so that not all are refused for a wrong epoch."""
        if name in LIKELY and self._random.random() < 0.6:
            return self._random.choice(LIKELY[name]).item()
        return self._value(kind)

    def _value(self, kind: Any) -> Any:
        if get_origin(kind) is Annotated:
            return self._value(get_args(kind)[0])
        if kind is int:
            return int(WHOLE[self._below(len(WHOLE))])
        if kind is float or kind == float | None:
            return REAL[self._below(len(REAL))]
        if kind is bool:
            return bool(self._below(2))
        if kind is bytes:
            return self._bytes(self._below(40))
        if kind is str:
            return self._bytes(self._below(40)).hex()
        if kind is Alike:
            return Alike(*(self._value(str) for _ in range(6)))
        if kind == Scatter | None:
            return Scatter(self._value(int), *(self._value(float) for _ in range(3)))
        inner = str if kind == tuple[str, ...] else int
        return tuple(self._value(inner) for _ in range(self._below(5)))

    def _one_said(self) -> bytes:
        return self._said[self._below(len(self._said))]

    def _bytes(self, count: int) -> bytes:
        return self._random.bytes(count)

    def _below(self, limit: int) -> int:
        return int(self._random.integers(limit))
