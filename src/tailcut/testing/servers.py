"""Scripted trouble for training on servers: processes that die at a point of their course, once; and what they leave.

    strikes = Strikes(folder, (Strike("shard", 1, "applying", 7),))
    train(ray, Plan(…, prepare=strikes))

Every process writes a line for each point it comes to, at once and in full, so that a death loses none; `seen` reads
them back. Points are those of `tailcut.engines.live.points`: `computing` and `computed` of workers; `giving`,
`applying` and `applied` of shards.
"""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import final

from tailcut.engines.live import points


@final
@dataclass(frozen=True, slots=True)
class Strike:
    """A death.

    Attributes:
        kind: `worker` or `shard`. number: which; None for whoever comes there first.
        point: at which. version: or the first one after it.
    """

    kind: str
    number: int | None
    point: str
    version: int


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """A process came to a point: which process, what it is, where, and what it had in hand."""

    process: int
    kind: str
    number: int
    point: str
    version: int
    what: str


@final
@dataclass(frozen=True, slots=True)
class Strikes:
    """To be called in every new process, as `prepare` of a plan.

    Attributes:
        folder: for notes, and for what has struck already.
        each: deaths, each of which happens once.
    """

    folder: Path
    each: tuple[Strike, ...] = ()

    def __call__(self, kind: str, number: int) -> None:
        """Watch this process from here on."""
        notes = (self.folder / f"{kind}.{number}.{os.getpid()}.jsonl").open("a", encoding="utf-8")

        def watch(point: str, version: int, what: bytes, accepted: tuple[int, ...]) -> None:
            del accepted
            notes.write(json.dumps([os.getpid(), kind, number, point, version, what.hex()]) + "\n")
            notes.flush()
            for place, strike in enumerate(self.each):
                if self._is_due(strike, kind, number, point, version) and self._is_first(place):
                    os.kill(os.getpid(), signal.SIGKILL)

        points.watch(watch)

    def struck(self) -> int:
        """Deaths so far."""
        return len(list(self.folder.glob("struck.*")))

    def seen(self) -> list[Seen]:
        """All notes, by process; those of one process in order."""
        lines = [
            line for file in sorted(self.folder.glob("*.jsonl")) for line in file.read_text().splitlines()
        ]
        return [Seen(*json.loads(line)) for line in lines]

    def _is_due(self, strike: Strike, kind: str, number: int, point: str, version: int) -> bool:
        is_here = (strike.kind, strike.point) == (kind, point) and version >= strike.version
        return is_here and strike.number in (None, number)

    def _is_first(self, place: int) -> bool:
        """Of several that come at once only one dies, and it does not die again."""
        try:
            os.close(os.open(self.folder / f"struck.{place}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        return True
