"""Reads the journals of the workers of a chaos run. Shares no code with the engine."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, final


@final
@dataclass(frozen=True, slots=True)
class Line:
    """One line of a worker's journal.

    Attributes:
        what: a point of the protocol; or `started`, `begun`, `ended`, `failed`.
        at: seconds, by the monotonic clock that all processes of the machine share.
        version: the version that the line is about; for an update, the version it made.
        chain: history hash after an update that was applied.
        accepted: workers whose gradients are in that update.
        digest: checksum of the parameters; empty if the line has none.
        more: all other fields of the line.
    """

    what: str
    at: float
    version: int = -1
    chain: str = ""
    accepted: tuple[int, ...] = ()
    digest: str = ""
    more: dict[str, Any] = field(default_factory=dict, compare=False)


@final
@dataclass(frozen=True)
class Life:
    """A worker from one start of its process to its end.

    Attributes:
        worker: the worker.
        number: number of this life among the worker's, from 0.
        lines: the lines in order; the first is `started`.
        torn: whether an incomplete line follows the last one.
    """

    worker: int
    number: int
    lines: tuple[Line, ...]
    torn: bool = False

    def __str__(self) -> str:
        return f"worker {self.worker} in life {self.number}"

    @cached_property
    def applied(self) -> tuple[Line, ...]:
        """The lines of the updates that it applied."""
        return tuple(line for line in self.lines if line.what == "applied")

    @property
    def ended(self) -> Line | None:
        """The line that says it reached the end of the run; None if it did not."""
        return next((line for line in self.lines if line.what == "ended"), None)

    @property
    def failed(self) -> str | None:
        """The reason why it failed, as a sentence; None if it noted none."""
        return next((str(line.more["why"]) for line in self.lines if line.what == "failed"), None)

    @property
    def process(self) -> int:
        """The process id."""
        return int(self.lines[0].more["pid"])

    @property
    def began(self) -> float:
        """The clock's seconds of its first line."""
        return self.lines[0].at

    @property
    def last(self) -> float:
        """The clock's seconds of its last line."""
        return self.lines[-1].at


_KNOWN = ("what", "at", "version", "chain", "digest")


def line_of(text: str) -> Line:
    """Parse one line of a journal.

    Example:
        >>> line_of('{"what": "applied", "at": 1.5, "version": 3, "chain": "ab", "accepted": [0, 2], "digest": "c"}')
        Line(what='applied', at=1.5, version=3, chain='ab', accepted=(0, 2), digest='c', more={})
    """
    told: dict[str, Any] = json.loads(text)
    known = {name: told.pop(name) for name in _KNOWN if name in told}
    return Line(**known, accepted=tuple(told.pop("accepted", ())), more=told)


def lives(folder: Path) -> list[Life]:
    """Return all lives with a journal in a folder, sorted by worker and number."""
    return sorted(
        (life for path in folder.glob("*.jsonl") if (life := _life(path)) is not None),
        key=lambda life: (life.worker, life.number),
    )


def _life(path: Path) -> Life | None:
    worker, number = _whose(path)
    *whole, rest = path.read_bytes().split(b"\n")
    if not whole:
        return None
    return Life(worker, number, tuple(line_of(each.decode()) for each in whole), bool(rest))


@final
class Tail:
    """Reads journals while they are being written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, int] = {}

    def look(self) -> dict[tuple[int, int], list[Line]]:
        """Return the lines that are new since the last call, by worker and life."""
        found = {path: self._more(path) for path in self._folder.glob("*.jsonl")}
        return {_whose(path): lines for path, lines in found.items() if lines}

    def _more(self, path: Path) -> list[Line]:
        begin = self._read.get(path.name, 0)
        if path.stat().st_size == begin:
            return []
        with path.open("rb") as file:
            file.seek(begin)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read[path.name] = begin + len(whole)
        return [line_of(each.decode()) for each in whole.splitlines()]


def _whose(path: Path) -> tuple[int, int]:
    worker, number = map(int, path.stem.split("-"))
    return worker, number
