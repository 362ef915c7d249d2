"""The writer of a run's folder: run.json, rounds.jsonl and now.json."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO, final

from tailcut.atomic import replacing
from tailcut.engines.records.asked import Asked
from tailcut.engines.records.files import RunFolder, reason
from tailcut.engines.records.lines import round_line, settled_line
from tailcut.engines.records.listener import Listener
from tailcut.engines.records.looking import Looking, takers
from tailcut.engines.records.read import hand_on
from tailcut.engines.records.standing import Standing
from tailcut.engines.records.tally import Tally
from tailcut.errors import InputError
from tailcut.events import Settle
from tailcut.json_lines import line_of
from tailcut.types import RoundRecord, Seconds

EVERY: Seconds = 0.25
"""Shortest time between two replacements of `now.json`, in seconds."""
MANY = 200
"""Workers from which on `now.json` is replaced less often, for it takes longer to write."""
CHUNK = 1 << 16
"""Bytes that are read at a time in search of the end of the last whole line."""


@final
class RunFiles(Listener):
    """A listener that records one run in a folder. It waits for the disk only at the end.

    Args:
        folder: the run's folder; it must not hold a run.
        asked: the settings of the run.
        calendar: returns seconds since 1970, for programs that watch from elsewhere.
        goes_on: whether another controller has written there before, and this one continues. `known` is then
            called with the lines that count.

    Raises:
        InputError: the folder holds a run already, or cannot be written.
    """

    def __init__(
        self,
        folder: RunFolder,
        asked: Asked,
        calendar: Callable[[], Seconds] = time.time,
        goes_on: bool = False,
    ) -> None:
        if not goes_on:
            folder.claim(asked.as_json())
        self._folder, self._asked, self._calendar = folder, asked, calendar
        self._tally, self._looking = Tally(), Looking(asked.clock)
        self._lines = _opened(folder.rounds, goes_on)
        self._next_look, self._newest = asked.clock, -1

    def known(self, line: RoundRecord | Settle) -> None:
        """Count a line that stands there already."""
        if isinstance(line, RoundRecord):
            self._newest = line.version
            self._tally.take(line)
        else:
            self._tally.settle(line)

    def round(self, record: RoundRecord) -> None:
        """Write a line for the round. If it has one, its update was lost with all holders, and is remade."""
        if record.version <= self._newest:
            self.back(record.version, "The update after it was lost with all who had it.")
        self._newest = record.version
        self._tally.take(record)
        self._lines.write(line_of(round_line(record)))

    def settled(self, settle: Settle) -> None:
        """Write a line for the settled gradient."""
        self._tally.settle(settle)
        self._lines.write(line_of(settled_line(settle)))

    def back(self, version: int, why: str) -> None:
        """Write a line for the return, and count again."""
        self._lines.write(line_of({"kind": "back", "version": version, "why": why}))
        self._newest = version - 1
        self._count_again()

    def skipped(self, version: int, why: str) -> None:
        """Write a line for the lost gradients, and count again."""
        self._lines.write(line_of({"kind": "skipped", "version": version, "why": why}))
        self._count_again()

    def look(self, standing: Standing, now: Seconds) -> None:
        """Replace `now.json`, if that was not done just before."""
        if now >= self._next_look:
            self._next_look = now + EVERY * max(1.0, self._asked.workers / MANY)
            self._tell(standing, now)

    def end(self, standing: Standing, now: Seconds) -> None:
        """Write the last line, wait until it is on the disk, and close the file."""
        self._lines.write(line_of({"kind": "end", "version": standing.version, "why": standing.why}))
        self._lines.flush()
        os.fsync(self._lines.fileno())
        self._lines.close()
        self._tell(standing, now, over=True)

    def hand_over(self) -> None:
        """Close the file, for another controller to continue; it has no end line, as the run goes on."""
        self._lines.close()

    def give_up(self) -> None:
        """Close the file; unwritten lines are lost. A run that never closed a round leaves no files."""
        with suppress(OSError):
            self._lines.close()
        if self._tally.rounds == 0:
            for file in (self._folder.rounds, self._folder.now, self._folder.run):
                with suppress(OSError):
                    file.unlink(missing_ok=True)

    def _count_again(self) -> None:
        """Count the lines that count, from the file: some that were counted do not any more."""
        self._lines.flush()
        self._tally = Tally()
        hand_on(self._folder.root, self.known)

    def _tell(self, standing: Standing, now: Seconds, over: bool = False) -> None:
        if standing.has_begun and not self._asked.takers:
            self._asked = self._asked.with_takers(takers(standing))
            _replace(self._folder.run, self._asked.as_json())
        look = self._looking.look(standing, self._tally, now, self._calendar(), over)
        _replace(self._folder.now, look.as_json())


def _opened(file: Path, goes_on: bool) -> TextIO:
    """Open the file of lines, each handed to the system at once: a killed controller loses none."""
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
    """Cut off a last line without an end: the controller was killed while it wrote it."""
    with file.open("rb+") as written:
        start = end = written.seek(0, os.SEEK_END)
        while start > 0:
            start = max(0, start - CHUNK)
            written.seek(start)
            found = written.read(min(CHUNK, end - start)).rfind(b"\n")
            if found >= 0:
                start += found + 1
                break
        if start < end:
            written.truncate(start)
