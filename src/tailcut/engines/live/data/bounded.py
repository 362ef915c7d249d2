"""Something that may never return, done beside: whoever asked for it goes on after a while."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from tailcut.types import Seconds


def bounded(act: Callable[[], None], limit: Seconds, what: str) -> None:
    """Do something, and wait for it so long at most. What does not return is left to itself, in a thread of its own.

    Args:
        act: to do.
        limit: seconds.
        what: it is, for the error: "connecting".

    Raises:
        RuntimeError: it did not return in time; or whatever it raised.

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
            # Its words alone: an exception would keep alive what it came through.
            failed.append(str(problem))
        finally:
            done.set()

    Thread(target=run, name="tailcut-bounded", daemon=True).start()
    if not done.wait(limit):
        raise RuntimeError(f"{what} took longer than {limit:g} s")
    if failed:
        raise RuntimeError(failed[0])
