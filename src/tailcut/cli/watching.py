"""The live view of a run's folder in a terminal, for `tailcut watch` and the commands that train."""

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
    """A run whose folder is read repeatedly.

    Args:
        folder: folder of the run; it may not exist yet.
        calendar: returns the seconds since 1970.

    Attributes:
        now: state of the run when it was last read; None if there was none.
        age: seconds since that state was written.
    """

    def __init__(self, folder: Path, calendar: Callable[[], Seconds] = time.time) -> None:
        self._files, self._calendar = RunFolder(folder), calendar
        self._asked: Asked | None = None
        self.now: Now | None = None
        self.age: Seconds = 0.0

    @property
    def over(self) -> bool:
        """Return whether the run had ended when it was last read."""
        return self.now is not None and self.now.over

    def look(self) -> LiveView | None:
        """Read the run's state and return it for printing; None as long as there is no run.

        Raises:
            InputError: the folder holds files that are not a readable run.
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
    """Show runs at the bottom of the terminal while the block runs; yield a function that refreshes the view.

    Print other lines through `console.print` meanwhile. Nothing is shown without a terminal.

    Args:
        folders: folders of runs that follow one another; the first run that has not ended is shown.
        console: the terminal to draw on.
    """
    coming = deque(Watched(folder) for folder in folders)
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def refresh() -> None:
            if not (coming and console.is_interactive):
                return
            # A file may be half written, and a failed view must not end the training.
            with suppress(InputError):
                view = coming[0].look()
                if view is not None:
                    live.update(view, refresh=True)
                if coming[0].over:
                    coming.popleft()

        yield refresh
