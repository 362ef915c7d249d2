"""Fault injection for training on servers: processes that die at a point, once, and the notes they leave.

    strikes = Strikes(folder, (Strike("shard", 1, "applying", 7),))
    train(ray, Plan(…, prepare=strikes))

Every process writes a line for each point it reaches, at once and in full, so that a death loses none; `seen`
reads them back. Points, with the digests in their lines: of workers `computing` (the pieces of the
parameters) and `computed` (the pieces of the gradient); of shards `giving` (the piece that it is given),
`applying`, `stepped` and `applied` (its piece after the update, then each gradient that it has added).
"""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import final

from tailcut.engines.live import points

PATIENCE = 10.0
"""Longest time that a death waits for another process, in seconds."""
DIGEST = 16
"""Characters in a digest."""


@final
@dataclass(frozen=True, slots=True)
class Strike:
    """A planned death of one process.

    Attributes:
        kind: `worker` or `shard`.
        number: number of the worker or shard; None for the first that reaches the point.
        point: the point at which it dies.
        version: the first version at which it may die.
        after: number of another process of its kind whose update of that version it waits for; None for none.
    """

    kind: str
    number: int | None
    point: str
    version: int
    after: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """A note that a process reached a point; `what` holds the digests of its data there."""

    process: int
    kind: str
    number: int
    point: str
    version: int
    what: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Strikes:
    """Carries out deaths and writes notes; each new process calls it, as `prepare` of a plan.

    Attributes:
        folder: folder for notes, and for a file per death that has happened.
        each: the deaths, each of which happens once.
    """

    folder: Path
    each: tuple[Strike, ...] = ()

    def __call__(self, kind: str, number: int) -> None:
        """Write notes of this process from now on, and kill it where a death is due."""
        notes = self.folder / f"{kind}.{number}.{os.getpid()}.jsonl"

        def watch(point: str, version: int, what: bytes, accepted: tuple[int, ...]) -> None:
            del accepted
            note = [time.monotonic(), os.getpid(), kind, number, point, version, what.hex()]
            with notes.open("a", encoding="utf-8") as file:
                file.write(json.dumps(note) + "\n")
            for place, strike in enumerate(self.each):
                if self._is_due(strike, kind, number, point, version) and self._is_first(place):
                    self._wait_for(strike, version)
                    os.kill(os.getpid(), signal.SIGKILL)

        points.watch(watch)

    def struck(self) -> int:
        """Return the number of deaths so far."""
        return len(list(self.folder.glob("struck.*")))

    def seen(self) -> list[Seen]:
        """Return all notes in order of time: all processes run on this machine, and read one clock."""
        # A last line without a line break is still being written.
        whole = [file.read_text().rpartition("\n")[0] for file in sorted(self.folder.glob("*.jsonl"))]
        lines = [json.loads(line) for text in whole for line in text.splitlines()]
        return [_seen(*line[1:]) for line in sorted(lines, key=lambda line: line[0])]

    def _is_due(self, strike: Strike, kind: str, number: int, point: str, version: int) -> bool:
        is_here = (strike.kind, strike.point) == (kind, point) and version >= strike.version
        return is_here and strike.number in (None, number)

    def _wait_for(self, strike: Strike, version: int) -> None:
        """Wait until the process named by `after` has applied this version, at most `PATIENCE` seconds."""
        until = time.monotonic() + PATIENCE
        while strike.after is not None and time.monotonic() < until:
            if any(
                (each.kind, each.number, each.point, each.version)
                == (strike.kind, strike.after, "applied", version)
                for each in self.seen()
            ):
                return
            time.sleep(0.01)

    def _is_first(self, place: int) -> bool:
        """Claim a death for this process; return whether no other process had claimed it."""
        try:
            os.close(os.open(self.folder / f"struck.{place}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        return True


def _seen(process: int, kind: str, number: int, point: str, version: int, what: str) -> Seen:
    digests = tuple(what[place : place + DIGEST] for place in range(0, len(what), DIGEST))
    return Seen(process, kind, number, point, version, digests)
