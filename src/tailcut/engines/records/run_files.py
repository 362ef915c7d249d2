"""Writes a run's folder: run.json, rounds.jsonl and now.json."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO, final

from tailcut.atomic import replacing
from tailcut.engines.records.asked import Asked
from tailcut.engines.records.files import RunFolder, reason
from tailcut.engines.records.lines import round_line, settled_line
from tailcut.engines.records.listener import Listener
from tailcut.engines.records.looking import Looking, takers
from tailcut.engines.records.read import read_run
from tailcut.engines.records.standing import Standing
from tailcut.engines.records.tally import Tally
from tailcut.errors import InputError
from tailcut.events import Settle
from tailcut.json_lines import line_of
from tailcut.types import RoundRecord, Seconds

EVERY: Seconds = 0.25
"""Between two replacements of `now.json`."""
MANY = 200
"""Workers from which on it is replaced less often, for it takes longer to write."""


@final
class RunFiles(Listener):
    """A folder that one run is recorded in. Nothing here waits for a disk.

    Args:
        folder: where; it must not hold a run.
        asked: what was asked for.
        calendar: seconds since 1970, for whoever watches from elsewhere.
        before: lines that another controller has written there before, and that this one goes on after; None for a
            folder of its own.

    Raises:
        InputError: the folder holds a run already, or cannot be written.
    """

    def __init__(
        self,
        folder: RunFolder,
        asked: Asked,
        calendar: Callable[[], Seconds] = time.time,
        before: Sequence[RoundRecord | Settle] | None = None,
    ) -> None:
        if before is None:
            folder.claim(asked.as_json())
        self._folder, self._asked, self._calendar = folder, asked, calendar
        self._tally, self._looking = _tally(before or ()), Looking(asked.clock)
        self._lines = _opened(folder.rounds, goes_on=before is not None)
        self._next_look = asked.clock
        self._newest = max(
            (line.version for line in before or () if isinstance(line, RoundRecord)), default=-1
        )

    def round(self, record: RoundRecord) -> None:
        """A line more. Where the same was told before, its update was lost with all who had it, and is made again."""
        if record.version <= self._newest:
            self.back(record.version, "The update after it was lost with all who had it.")
        self._newest = record.version
        self._tally.take(record)
        self._lines.write(line_of(round_line(record)))

    def settled(self, settle: Settle) -> None:
        """A line more."""
        self._tally.settle(settle)
        self._lines.write(line_of(settled_line(settle)))

    def back(self, version: int, why: str) -> None:
        """A line more."""
        self._lines.write(line_of({"kind": "back", "version": version, "why": why}))
        self._newest = version - 1
        self._count_again()

    def skipped(self, version: int, why: str) -> None:
        """A line more."""
        self._lines.write(line_of({"kind": "skipped", "version": version, "why": why}))
        self._count_again()

    def look(self, standing: Standing, now: Seconds) -> None:
        """Tell how it stands, if it was not told just before."""
        if now >= self._next_look:
            self._next_look = now + EVERY * max(1.0, self._asked.workers / MANY)
            self._tell(standing, now)

    def end(self, standing: Standing, now: Seconds) -> None:
        """The last line, kept for good."""
        self._lines.write(line_of({"kind": "end", "version": standing.version, "why": standing.why}))
        self._lines.flush()
        os.fsync(self._lines.fileno())
        self._lines.close()
        self._tell(standing, now, over=True)

    def hand_over(self) -> None:
        """Let go of the file, for another to go on in it; that no end stands there tells that the run has none yet."""
        self._lines.close()

    def give_up(self) -> None:
        """Let go of the file; what could not be written is lost. A run that never came to a round leaves nothing."""
        with suppress(OSError):
            self._lines.close()
        if self._tally.rounds == 0:
            for file in (self._folder.rounds, self._folder.now, self._folder.run):
                with suppress(OSError):
                    file.unlink(missing_ok=True)

    def _count_again(self) -> None:
        """Some of what was told is not so any more."""
        self._lines.flush()
        self._tally = _tally(read_run(self._folder.root).lines)

    def _tell(self, standing: Standing, now: Seconds, over: bool = False) -> None:
        if standing.has_begun and not self._asked.takers:
            self._asked = self._asked.with_takers(takers(standing))
            _replace(self._folder.run, self._asked.as_json())
        look = self._looking.look(standing, self._tally, now, self._calendar(), over)
        _replace(self._folder.now, look.as_json())


def _tally(lines: Sequence[RoundRecord | Settle]) -> Tally:
    """Of lines that are there."""
    tally = Tally()
    for line in lines:
        if isinstance(line, RoundRecord):
            tally.take(line)
        else:
            tally.settle(line)
    return tally


def _opened(file: Path, goes_on: bool) -> TextIO:
    """For lines, each of which is the operating system's at once: a controller that is killed loses none."""
    try:
        if goes_on:
            _drop_torn(file)
        return file.open("a" if goes_on else "x", encoding="utf-8", buffering=1)
    except OSError as error:
        raise InputError(
            f"{file} cannot be written ({reason(error)}). Give another folder for the run."
        ) from error


def _replace(file: Path, text: str) -> None:
    with replacing(file, lasting=False) as draft:
        draft.write(text.encode())


def _drop_torn(file: Path) -> None:
    """Cut off a last line without an end: whoever wrote it was killed."""
    written = file.read_bytes()
    whole = written.rfind(b"\n") + 1
    if whole < len(written):
        os.truncate(file, whole)
