"""The launcher's output: the lines that its workers print, with their rank if wanted, and its own sentences.

One thread for each stream of a worker reads, and one thread writes. The launcher's own thread does neither: it goes on
looking after the processes while a terminal is paused.
"""

from __future__ import annotations

import codecs
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import Empty, Queue
from typing import IO, TextIO, TypeAlias, final

from tailcut.engines.live.output import Lines, Traceback, Tracebacks, prefixed
from tailcut.types import Seconds, WorkerId

LOOK: Seconds = 0.05
"""Seconds between two checks for sentences that are due, while nothing is printed."""
DELAY: Seconds = 0.1
"""Seconds that a sentence of the controller waits for news of the processes that it names."""
IDLE: Seconds = 1.0
"""Seconds after which a terminal shows a line that has no end yet."""
PATIENCE: Seconds = 2.0
"""Seconds to wait for the streams of ended processes: another process may hold them open."""
MAX_RANK = 999
"""Largest rank whose prefix progress bars leave room for."""
WAITING = 256
"""Most pieces of output that wait to be written; workers that print more have to wait."""

Tell: TypeAlias = Callable[[str], None]


@final
class Screen:
    """Standard output and standard error, with at most one unfinished line, such as a progress bar.

    Args:
        tell: is given whole lines instead, if it is given.
    """

    def __init__(self, tell: Tell | None = None) -> None:
        self.out, self.err, self._tell = sys.stdout, sys.stderr, tell
        self._bar: tuple[TextIO, str, str] | None = None

    def line(self, file: TextIO, text: str, source: str = "") -> None:
        """Write a whole line.

        Args:
            file: standard output or standard error.
            text: the line without its end.
            source: whose line it is: the end of its own progress bar takes that bar's place.
        """
        if self._tell is not None:
            self._tell(text)
            return
        bar = self._bar
        if bar is not None and not (bar[0] is file or (bar[0].isatty() and file.isatty())):
            bar = None
        if bar is not None:
            self._clear(bar, source)
        file.write(f"{text}\n")
        file.flush()
        if bar is not None and self._bar is not None:
            self.bar(*bar)

    def bar(self, file: TextIO, text: str, source: str) -> None:
        """Write a line that is not finished, in place of the one that was there."""
        if self._tell is not None:
            return
        if self._bar is not None and self._bar[2] != source:
            self._clear(self._bar, "")
        # A terminal would also show the rest of a longer line.
        file.write(f"\r{text}\x1b[K" if file.isatty() else f"\r{text}")
        file.flush()
        self._bar = (file, text, source)

    def end(self) -> None:
        """Finish the line that is not finished."""
        if self._bar is not None:
            file, _, _ = self._bar
            file.write("\n")
            file.flush()
            self._bar = None

    def _clear(self, bar: tuple[TextIO, str, str], source: str) -> None:
        file, _, owner = bar
        is_terminal = file.isatty()
        if is_terminal:
            file.write("\r\x1b[K")
        else:
            file.write("\r" if owner == source else "\n")
        file.flush()
        # On a terminal the bar of another worker is drawn again below the line.
        if owner == source or not is_terminal:
            self._bar = None


@final
@dataclass(slots=True)
class _Source:
    """One stream of one worker."""

    worker: WorkerId
    name: str
    file: TextIO
    has_tracebacks: bool
    lines: Lines = field(default_factory=Lines)
    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")(errors="replace")
    )
    heard: Seconds = 0.0
    is_shown: bool = False


@final
class Relay:
    """The output of a launch.

    Args:
        has_prefix: whether lines begin with the worker's rank.
        tell: is given every line; None for standard output and standard error.
    """

    def __init__(self, has_prefix: bool, tell: Tell | None) -> None:
        self._has_prefix, self._merged = has_prefix, tell is not None
        self._screen = Screen(tell)
        self._came: Queue[tuple[_Source, bytes] | None] = Queue(WAITING)
        self._sentences: deque[tuple[Seconds, str]] = deque()
        self._tracebacks, self._sources = Tracebacks(), list[_Source]()
        self._readers: list[threading.Thread] = []
        self._muted: Seconds = math.inf
        self._problem: BaseException | None = None
        self._writer = threading.Thread(target=self._write, name="tailcut-output", daemon=True)
        self._writer.start()

    @property
    def streams(self) -> tuple[int | None, int | None]:
        """Standard output and standard error of workers, for `Popen`: their own, or pipes to this relay."""
        if self._merged:
            return subprocess.PIPE, subprocess.STDOUT
        return (subprocess.PIPE, subprocess.PIPE) if self._has_prefix else (None, None)

    @property
    def environment(self) -> dict[str, str]:
        """Variables for workers that print into pipes: no buffering, and progress bars that fit."""
        if self.streams == (None, None):
            return {}
        found = {"PYTHONUNBUFFERED": "1"}
        if self._has_prefix and self._screen.err.isatty():
            size = shutil.get_terminal_size()
            room = size.columns - len(prefixed(MAX_RANK, ""))
            found |= {"COLUMNS": str(max(room, 1)), "LINES": str(size.lines)}
        return {name: value for name, value in found.items() if name not in os.environ}

    def read(self, worker: WorkerId, process: subprocess.Popen[bytes]) -> None:
        """Read what a process prints, from here on.

        Raises:
            RuntimeError: there is no room for one more thread.
        """
        for stream, file in ((process.stdout, self._screen.out), (process.stderr, self._screen.err)):
            if stream is not None:
                is_error = self._merged or file is self._screen.err
                source = _Source(worker, f"{worker} {stream.fileno()}", file, is_error)
                self._sources.append(source)
                thread = threading.Thread(target=self._read, args=(stream, source), daemon=True)
                thread.start()
                self._readers.append(thread)

    def say(self, sentence: str) -> None:
        """Print a sentence for people."""
        self._sentences.append((time.monotonic(), sentence))

    def look(self) -> None:
        """Raise an error that occurred in writing: missing output must not go unnoticed."""
        if self._problem is not None:
            raise self._problem

    def mute(self) -> None:
        """Drop the sentences on the run from now on, and those of a moment ago: it is being stopped.

        The controller says of every worker that is stopped that its process has ended, and that the others go on.
        """
        self._muted = time.monotonic() - DELAY

    def end(
        self,
        failed: WorkerId | None = None,
        verdict: Callable[[Sequence[WorkerId]], str | None] = lambda _: None,
    ) -> None:
        """Print all that is left, the traceback of the failed worker last, and then the verdict.

        Args:
            failed: the worker; None where none has failed.
            verdict: gives the last sentence, told which workers had the same error.
        """
        until = time.monotonic() + PATIENCE
        for reader in self._readers:
            reader.join(max(0.0, until - time.monotonic()))
        self._came.put(None)
        self._writer.join()
        self.look()
        now = time.monotonic()
        for source in self._sources:
            self._print(source, source.lines.end(), now)
        self._say_due(math.inf)
        tracebacks, same = self._tracebacks.last(failed)
        for each in tracebacks:
            self._print_traceback(each)
        self._screen.end()
        sentence = verdict(same)
        if sentence is not None:
            self._screen.line(self._screen.err, f"tailcut: {sentence}")

    def _read(self, stream: IO[bytes], source: _Source) -> None:
        with stream:
            while came := os.read(stream.fileno(), 1 << 16):
                self._came.put((source, came))

    def _write(self) -> None:
        """Write the output until its end. After an error the rest is still read, so that no worker blocks."""
        while True:
            try:
                came = self._came.get(timeout=LOOK)
                if came is None:
                    return
            except Empty:
                came = None
            if self._problem is None:
                try:
                    self._do(came, time.monotonic())
                except Exception as problem:
                    self._problem = problem

    def _do(self, came: tuple[_Source, bytes] | None, now: Seconds) -> None:
        if came is not None:
            source, data = came
            source.heard = now
            self._print(source, source.lines.feed(source.decoder.decode(data)), now)
            if source.lines.is_bar:
                self._show(source)
        self._say_due(now - DELAY)
        if self._muted == math.inf:
            for each in self._tracebacks.due(now):
                self._print_traceback(each)
        if came is None and self._screen.err.isatty():
            for source in self._sources:
                if source.lines.unfinished and not source.is_shown and now - source.heard > IDLE:
                    self._show(source)

    def _show(self, source: _Source) -> None:
        self._screen.bar(source.file, self._named(source.worker, source.lines.unfinished), source.name)
        source.is_shown = True

    def _print(self, source: _Source, lines: Sequence[str], now: Seconds) -> None:
        for line in lines:
            source.is_shown = False
            if not (source.has_tracebacks and self._tracebacks.takes(source.worker, line, now)):
                self._screen.line(source.file, self._named(source.worker, line), source.name)

    def _print_traceback(self, it: Traceback) -> None:
        for line in it.lines:
            self._screen.line(self._screen.err, self._named(it.worker, line))

    def _say_due(self, until: Seconds) -> None:
        while self._sentences and self._sentences[0][0] <= until:
            said, sentence = self._sentences.popleft()
            if said < self._muted:
                self._screen.line(self._screen.err, sentence)

    def _named(self, worker: WorkerId, line: str) -> str:
        return prefixed(worker, line) if self._has_prefix else line
