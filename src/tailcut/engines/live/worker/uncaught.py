"""The report of errors that a script does not catch, and with which a worker's process ends."""

from __future__ import annotations

import sys
from types import TracebackType

from tailcut.engines.live.hosting import note_failing
from tailcut.engines.live.worker.inbox import TooLateError


def mind_uncaught() -> None:
    """Print an error of a worker that comes after the run as one sentence, and tell the launcher of any other at once.

    Python takes a while to end after an error, and the launcher is to stop the other workers meanwhile.
    """
    before = sys.excepthook
    if getattr(before, "is_of_tailcut", False):
        return

    def uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, TooLateError):
            print(f"tailcut: {error}", file=sys.stderr, flush=True)
            return
        note_failing()
        before(kind, error, trace)

    uncaught.is_of_tailcut = True  # type: ignore[attr-defined]
    sys.excepthook = uncaught
