"""The text that worker processes print: lines, progress bars, tracebacks. Nothing is read or written here."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from tailcut.engines.live.controller.words import workers
from tailcut.types import Seconds, WorkerId

MAX_LINE = 1 << 16
"""Characters after which a line without an end is passed on as it is."""
HOLD: Seconds = 2.0
"""A traceback whose process has not ended within this time is passed on: the script has only logged it."""
_BEGINS = re.compile(
    r'(Traceback \(most recent call last\):|  \+ Exception Group |Fatal Python error: |  File ")'
)


@final
class Lines:
    r"""Split what one process writes to one stream into lines, as a terminal would show them.

    A carriage return takes back what stands before it on its line.

    Attributes:
        unfinished: the last line as it stands, without an end so far.
        is_bar: whether the last line is a progress bar: one that is written anew after carriage returns.

    Example:
        >>> lines = Lines()
        >>> lines.feed("loss 1.2\nlo"), lines.feed("ss 1.1\n")
        (['loss 1.2'], ['loss 1.1'])
        >>> lines.feed("\r 50%"), lines.unfinished, lines.is_bar
        ([], ' 50%', True)
        >>> lines.feed("\r100%\ndone\n")
        ['100%', 'done']
    """

    def __init__(self) -> None:
        self.unfinished, self.is_bar = "", False
        self._rest = ""

    def feed(self, text: str) -> list[str]:
        """Take in more text; return the lines that are now whole."""
        *ended, rest = (self._rest + text).split("\n")
        if len(_shown(rest)) > MAX_LINE:
            ended, rest = [*ended, rest], ""
        self.unfinished, self.is_bar = _shown(rest), "\r" in rest
        # Of a progress bar only the last move counts; a carriage return at its end has not taken it back yet.
        self._rest = "\r" + self.unfinished + "\r" * rest.endswith("\r") if self.is_bar else rest
        return [_shown(line) for line in ended]

    def end(self) -> list[str]:
        """Return the line that has no end, if there is one: nothing follows."""
        return self.feed("\n") if self.unfinished else []


def _shown(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2]


@final
@dataclass(slots=True)
class Traceback:
    """The lines of one worker that are held back."""

    worker: WorkerId
    begun: Seconds
    lines: list[str] = field(default_factory=list)

    @property
    def error(self) -> str:
        """The error that was raised, in the words of the traceback's last line."""
        return next((line for line in reversed(self.lines) if line.strip()), "")


@final
class Tracebacks:
    """Hold back each worker's traceback: it belongs together, and that of a failed run comes last.

    Example:
        >>> held = Tracebacks()
        >>> held.takes(1, "epoch 3", now=0.0), held.takes(1, "Traceback (most recent call last):", now=0.0)
        (False, True)
        >>> held.takes(0, "epoch 3", now=0.1), held.takes(1, "ValueError: my mistake", now=0.1)
        (False, True)
        >>> [(each.worker, each.error) for each in held.due(now=5.0)]
        [(1, 'ValueError: my mistake')]
    """

    def __init__(self) -> None:
        self._held: dict[WorkerId, Traceback] = {}

    def takes(self, worker: WorkerId, line: str, now: Seconds) -> bool:
        """Hold a line back where it begins a traceback or follows one; return whether it is held."""
        if worker not in self._held and not _BEGINS.match(line):
            return False
        self._held.setdefault(worker, Traceback(worker, now)).lines.append(line)
        return True

    def due(self, now: Seconds) -> list[Traceback]:
        """Remove and return the tracebacks that were only logged: their processes go on."""
        due = [each for each in self._held.values() if now - each.begun >= HOLD]
        for each in due:
            del self._held[each.worker]
        return due

    def last(self, failed: WorkerId | None) -> tuple[list[Traceback], list[WorkerId]]:
        """Remove and return all tracebacks, the failed worker's last; and the workers with the same error.

        Tracebacks with the same error as the failed worker's, or that were cut off in the middle of the same
        lines, are left out: they would only repeat it.
        """
        held, self._held = sorted(self._held.values(), key=lambda each: each.begun), {}
        own = next((each for each in held if each.worker == failed), None)
        if own is None:
            return held, []
        held.remove(own)
        same = [each for each in held if each.error == own.error]
        others = [each for each in held if each not in same and each.lines != own.lines[: len(each.lines)]]
        return [*others, own], sorted(each.worker for each in same)


def prefixed(worker: WorkerId, line: str) -> str:
    """Return a line with its worker's rank before it.

    Example:
        >>> prefixed(3, "loss 0.1")
        '[rank 3] loss 0.1'
    """
    return f"[rank {worker}] {line}"


def how_it_ended(code: int) -> str:
    """Return in words how a process ended that failed.

    Example:
        >>> how_it_ended(3), how_it_ended(-11)
        ('ended with exit code 3', 'was ended by SIGSEGV (exit code -11)')
    """
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by {signal_name(-code)} (exit code {code})"


def signal_name(number: int) -> str:
    """Return a signal's name, or its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def verdict(worker: WorkerId, code: int, has_stopped_others: bool, same: Sequence[WorkerId]) -> str:
    """Return the last sentence of a run that failed.

    Args:
        worker: the worker that failed.
        code: exit code of its process.
        has_stopped_others: whether other workers ran then, and were stopped.
        same: other workers that had raised the same error.

    Example:
        >>> verdict(1, 1, has_stopped_others=True, same=[])
        'Worker 1 ended with exit code 1. The other workers were stopped.'
        >>> verdict(0, 1, has_stopped_others=False, same=[1, 2])
        'Worker 0 ended with exit code 1; workers 1 and 2 had the same error.'
    """
    told = f"Worker {worker} {how_it_ended(code)}"
    if same:
        told = f"{told}; {workers(same)} had the same error"
    return f"{told}.{' The other workers were stopped.' if has_stopped_others else ''}"
