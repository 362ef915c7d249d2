"""What outlives every worker: the store in which they find each other, and their controllers.

The launcher is the host. Workers ask it for a controller by a file in a folder that only this user can read, and find
the address in another. A controller that is killed is started again at the same address, with the next term: workers
tell it where the run stands. So is one that has lost all workers, as it does when it was stopped for long: their
connections have broken, but they are still there.
"""

from __future__ import annotations

import json
import math
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, final

from tailcut.atomic import replacing
from tailcut.engines.live.keys import with_key
from tailcut.engines.live.supervise import Backoff
from tailcut.engines.live.worker.controller_process import DESERTED, Child, ControllerProcess, waiting
from tailcut.errors import InputError
from tailcut.types import Seconds

STORE, FOLDER = "TAILCUT_STORE", "TAILCUT_HOST_FOLDER"
"""Environment variables that tell workers of their host: address of the store, and the folder."""
FAILED = "!"
"""Before a sentence that stands where the address should."""
MOST_SHORT_LIVES = 8
"""Of one controller, one after another, before it is given up."""
PAUSES: tuple[Seconds, Seconds, Seconds] = (0.1, 1.0, 2.0)
"""Before it is started again, at first and at most; and after how long a life it had been well."""
SETTLED: Seconds = 1.0
"""After a controller has started, before the next in line is made ready, so that nobody has to wait for it."""
PATIENCE: Seconds = 30.0
"""For reports at the end of a run."""


@final
@dataclass(slots=True)
class _Controller:
    """One that was asked for."""

    options: dict[str, Any]
    process: ControllerProcess
    term: int = 1
    backoff: Backoff = field(default_factory=lambda: Backoff(*PAUSES))
    ended: Seconds | None = None


@final
class Host:
    """Of the workers of one machine.

    Args:
        folder: that only this user can read.
        tell: is given what controllers say to people; by default that goes to standard error.
        around: environment of this process; with the run's key, if it has one.
    """

    def __init__(
        self, folder: Path, tell: Callable[[str], None] | None = None, around: Mapping[str, str] | None = None
    ) -> None:
        self._folder, self._tell = folder, tell or partial(print, file=sys.stderr, flush=True)
        self._around = with_key(os.environ if around is None else around)
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._port = int(self._listener.getsockname()[1])
        self._store: object | None = None
        self._controllers: list[_Controller] = []
        self._standby: Child | None = None
        self._standby_due = math.inf

    @property
    def environment(self) -> dict[str, str]:
        """Of workers, which tells them of it."""
        return {**self._around, STORE: f"127.0.0.1:{self._port}", FOLDER: str(self._folder)}

    @property
    def is_over(self) -> bool:
        """Whether a run is, and its controller has ended: who is started again finds nobody to come back to."""
        return any(each.process.code == 0 for each in self._controllers)

    def came_late(self, process: int) -> bool:
        """Whether a worker's process has said that it came after the run, or after its own part in it."""
        return (self._folder / _lateness(process)).exists()

    def open_store(self) -> None:
        """From here on workers can find each other. Takes as long as importing torch."""
        from torch._C._distributed_c10d import TCPStore

        self._listener.listen(128)
        # On the loopback address alone: torch's own way listens on all.
        self._store = TCPStore(
            "127.0.0.1",
            self._port,
            is_master=True,
            wait_for_workers=False,
            master_listen_fd=self._listener.detach(),
        )

    def look(self, now: Seconds) -> None:
        """Start controllers that are asked for, and those again that were killed."""
        asked = self._folder / asking(len(self._controllers))
        if asked.exists():
            self._start(json.loads(asked.read_text()))
            self._standby_due = now + SETTLED if self._standby is None else math.inf
        for each in self._controllers:
            if each.process.code == 0:
                (self._folder / _ending(each.process.address)).touch()
            self._see_to(each, now)
        if now >= self._standby_due:
            self._standby_due = now + SETTLED
            # Where there is no room for one more process, the next controller takes a little longer.
            with suppress(OSError):
                self._standby, self._standby_due = waiting(self._around), math.inf

    def end(self, at_once: bool) -> None:
        """End all controllers, and the store.

        Args:
            at_once: the run has failed. Otherwise controllers that have seen all workers out may write their reports.
        """
        for each in self._controllers:
            each.process.end(at_once, PATIENCE)
        standby, self._standby = self._standby, None
        if standby is not None:
            standby.kill()
            standby.communicate()
        with suppress(OSError):
            self._listener.close()
        self._store = None

    def _start(self, options: dict[str, Any]) -> None:
        number = len(self._controllers)
        options["saved"] = options.get("saved") or str(self._folder / f"policy-{number}.safetensors")
        try:
            process = ControllerProcess(options, self._tell, self._around)
        except InputError as problem:
            self._publish(number, f"{FAILED}{problem}")
            # Nobody else is asked for: whoever has asked fails, and with it the run.
            (self._folder / asking(number)).unlink()
            return
        self._controllers.append(_Controller(options, process))
        # Another one may have had the same port.
        (self._folder / _ending(process.address)).unlink(missing_ok=True)
        self._publish(number, process.address)

    def _see_to(self, it: _Controller, now: Seconds) -> None:
        if not it.process.code or it.backoff.times > MOST_SHORT_LIVES:
            return
        it.ended = now if it.ended is None else it.ended
        if now < it.backoff.due(it.ended):
            return
        if it.process.code == DESERTED:
            it.options["follows-loss"] = 1
        it.process.end(at_once=True)
        it.backoff.begun(now)
        it.ended, it.term = None, it.term + 1
        options = {**it.options, "address": it.process.address, "term": it.term}
        try:
            standby, self._standby = self._standby, None
            it.process = ControllerProcess(options, self._tell, self._around, standby)
            self._standby_due = now + SETTLED
        except InputError as problem:
            self._tell(f"tailcut: The controller could not be started again: {problem}")
        else:
            self._tell(
                f"tailcut: The controller had ended before the run. Its place is taken, in term {it.term}."
            )

    def _publish(self, number: int, what: str) -> None:
        with replacing(self._folder / answering(number), lasting=False) as draft:
            draft.write(what.encode())


def asking(run: int) -> str:
    """The file in which a controller is asked for, by the number of the run in its script."""
    return f"ask-{run}.json"


def answering(run: int) -> str:
    """The file with its address."""
    return f"controller-{run}"


def ask(folder: Path, run: int, options: Mapping[str, object]) -> None:
    """Ask the host for a controller, unless it was asked already."""
    file = folder / asking(run)
    if not file.exists():
        with replacing(file, lasting=False) as draft:
            draft.write(json.dumps(dict(options)).encode())


def answer(folder: Path, run: int) -> str | None:
    """What the host says: an address, or a sentence after `FAILED`; None for nothing yet."""
    file = folder / answering(run)
    return file.read_text() if file.exists() else None


def note_late() -> None:
    """Tell the host, if there is one, that this process comes after the run: that it fails harms nobody."""
    folder = host_folder()
    if folder is not None:
        with suppress(OSError):
            (folder / _lateness(os.getpid())).touch()


def is_over(address: str) -> bool:
    """Whether the host says that the controller of this address has seen its run out."""
    folder = host_folder()
    return folder is not None and (folder / _ending(address)).exists()


def _lateness(process: int) -> str:
    return f"late-{process}"


def _ending(address: str) -> str:
    return f"over-{address.rpartition(':')[2]}"


def host_folder() -> Path | None:
    """Where to ask; None where nobody hosts this process."""
    named = os.environ.get(FOLDER)
    return None if not named else Path(named)
