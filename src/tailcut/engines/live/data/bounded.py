"""A call with a time limit of a function that may never return."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from tailcut.types import Seconds


def bounded(act: Callable[[], None], limit: Seconds, what: str) -> None:
    """Call a function in a thread of its own, and wait for it so long at most. The thread then goes on.

    Args:
        act: the function.
        limit: longest wait, in seconds.
        what: name of the call, for the error: "connecting".

    Raises:
        RuntimeError: it did not return in time, or raised a RuntimeError.

    Example:
        >>> bounded(lambda: None, 1.0, "nothing")
        >>> bounded(Event().wait, 0.01, "waiting")
        Traceback (most recent call last):
          ...
        RuntimeError: waiting took longer than 0.01 s
    """
    done, failed = Event(), list[str]()

    def run() -> None:
        try:
            act()
        except RuntimeError as problem:
            # Only its text: an exception would keep alive the objects of all frames that it came through.
            failed.append(str(problem))
        finally:
            done.set()

    Thread(target=run, name="tailcut-bounded", daemon=True).start()
    if not done.wait(limit):
        raise RuntimeError(f"{what} took longer than {limit:g} s")
    if failed:
        raise RuntimeError(failed[0])
