"""SIGINT (Ctrl-C) and SIGTERM as exceptions, deferred while an operation must not be interrupted."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias, final

IGNORING = ("/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh")
"""Start of the command of a process that ignores Ctrl-C from its first instruction on.

A terminal sends Ctrl-C to every process of a job. The process that started the others ends them; without this each of
them would also print a traceback, and no handler of its own could be early enough to prevent that.
"""

Handler: TypeAlias = Callable[[int, FrameType | None], object]


@final
class Interruptions:
    """The handlers of SIGINT and SIGTERM in this process. Outside its main thread they are not set.

    A signal between the start of a process and its registration, or while processes are being ended, would
    leave one behind: it is deferred until that is done.
    """

    def __init__(self) -> None:
        self._held = 0
        self._late: Callable[[], object] | None = None

    @contextmanager
    def minded(self) -> Iterator[None]:
        """Raise an exception on either signal in this context, so that the process can end its workers."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
        signal.signal(signal.SIGTERM, self._unless_held(_leave))
        interrupt = before[signal.SIGINT]
        # A process that ignores Ctrl-C, such as one in the background, goes on ignoring it.
        if callable(interrupt):
            signal.signal(signal.SIGINT, self._unless_held(interrupt))
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Defer signals that come within this context until its end."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._late is not None and not self._held:
            late, self._late = self._late, None
            late()

    def _unless_held(self, handler: Handler) -> Handler:
        def handle(number: int, frame: FrameType | None) -> None:
            if self._held:
                self._late = lambda: handler(number, frame)
            else:
                handler(number, frame)

        return handle


@contextmanager
def ignored() -> Iterator[None]:
    """Ignore Ctrl-C in this context: processes started in it, whatever their command, inherit that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)
