"""A live view of a run's folder, for whoever has a terminal: `tailcut watch`, and commands that train."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.live import Live

from tailcut.engines.records.asked import Asked, read_asked
from tailcut.engines.records.files import RunFolder
from tailcut.engines.records.now import Now, read_now
from tailcut.errors import InputError
from tailcut.report.live_view import LiveView, live_view
from tailcut.types import Seconds


class Watched:
    """A run that is looked at again and again.

    Args:
        folder: of the run; it may not be there yet.
        calendar: seconds since 1970.

    Attributes:
        now: how it stood at the last look; None if nothing was known.
        age: seconds since that was written.
    """

    def __init__(self, folder: Path, calendar: Callable[[], Seconds] = time.time) -> None:
        self._files, self._calendar = RunFolder(folder), calendar
        self._asked: Asked | None = None
        self.now: Now | None = None
        self.age: Seconds = 0.0

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return self.now is not None and self.now.over

    def look(self) -> LiveView | None:
        """How it stands, to be printed; None as long as there is no run.

        Raises:
            InputError: the folder holds something else.
        """
        if self._asked is None:
            if not self._files.run.exists():
                return None
            self._asked = read_asked(self._files.run)
        self.now = read_now(self._files.now, self._asked.workers)
        self.age = 0.0 if self.now is None else max(self._calendar() - self.now.written, 0.0)
        return live_view(self._asked, self.now, self.age)


@contextmanager
def shown(folders: Sequence[Path], console: Console) -> Iterator[Callable[[], None]]:
    """A view at the bottom of the terminal while something else runs; call what it gives every now and then.

    Lines that are to be seen meanwhile go through `console.print`. Where nobody watches nothing is shown.

    Args:
        folders: of runs that come one after the other; the first that has not ended is shown.
        console: where.
    """
    coming = deque(Watched(folder) for folder in folders)
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def refresh() -> None:
            if not (coming and console.is_interactive):
                return
            # What is shown is no reason to end what runs: a file may be half written.
            with suppress(InputError):
                view = coming[0].look()
                if view is not None:
                    live.update(view, refresh=True)
                if coming[0].over:
                    coming.popleft()

        yield refresh
