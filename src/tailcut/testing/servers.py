"""Scripted trouble for training on servers: processes that die at a point of their course, once; and what they leave.

    strikes = Strikes(folder, (Strike("shard", 1, "applying", 7),))
    train(ray, Plan(…, prepare=strikes))

Every process writes a line for each point it comes to, at once and in full, so that a death loses none; `seen` reads
them back. Points, each with digests of what is in hand there: of workers `computing` (the pieces of the parameters) and
`computed` (those of the gradient); of shards `giving` (the piece that it is given), `applying`, `stepped` and `applied`
(its piece after the update, then each gradient that it has added).
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
"""Seconds that a death waits for another process."""
DIGEST = 16
"""Characters of a digest."""


@final
@dataclass(frozen=True, slots=True)
class Strike:
    """A death.

    Attributes:
        kind: `worker` or `shard`. number: which; None for whoever comes there first.
        point: at which. version: or the first one after it.
        after: number of another of its kind that must have applied the same version first; None for nobody.
    """

    kind: str
    number: int | None
    point: str
    version: int
    after: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """A process came to a point: which process, what it is, where, and digests of what it had in hand."""

    process: int
    kind: str
    number: int
    point: str
    version: int
    what: tuple[str, ...] = ()


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
        """Deaths so far."""
        return len(list(self.folder.glob("struck.*")))

    def seen(self) -> list[Seen]:
        """All notes, in the order in which they were written: all processes are of this machine, and read one clock."""
        # A last line without an end is being written.
        whole = [file.read_text().rpartition("\n")[0] for file in sorted(self.folder.glob("*.jsonl"))]
        lines = [json.loads(line) for text in whole for line in text.splitlines()]
        return [_seen(*line[1:]) for line in sorted(lines, key=lambda line: line[0])]

    def _is_due(self, strike: Strike, kind: str, number: int, point: str, version: int) -> bool:
        is_here = (strike.kind, strike.point) == (kind, point) and version >= strike.version
        return is_here and strike.number in (None, number)

    def _wait_for(self, strike: Strike, version: int) -> None:
        """Until another one has come to its end, or for a while."""
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
        """Of several that come at once only one dies, and it does not die again."""
        try:
            os.close(os.open(self.folder / f"struck.{place}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        return True


def _seen(process: int, kind: str, number: int, point: str, version: int, what: str) -> Seen:
    digests = tuple(what[place : place + DIGEST] for place in range(0, len(what), DIGEST))
    return Seen(process, kind, number, point, version, digests)
