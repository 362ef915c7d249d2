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
from tailcut.engines.live.descriptors import DescriptorWatch
from tailcut.engines.live.keys import with_key
from tailcut.engines.live.supervise import Backoff
from tailcut.engines.live.worker.controller_process import (
    DESERTED,
    Child,
    ControllerProcess,
    has_loaded,
    waiting,
)
from tailcut.errors import InputError
from tailcut.types import Seconds

STORE, FOLDER = "TAILCUT_STORE", "TAILCUT_HOST_FOLDER"
"""Environment variables that tell workers of their host: address of the store, and the folder."""
FAILING = "failing"
"""File in which processes say that they end with an error."""
FAILED = "!"
"""Before a sentence that stands where the address should."""
MOST_SHORT_LIVES = 8
"""Of one controller, one after another, before it is given up."""
PAUSES: tuple[Seconds, Seconds, Seconds] = (0.1, 1.0, 2.0)
"""Before it is started again, at first and at most; and after how long a life it had been well."""
SETTLED: Seconds = 5.0
"""After the first controller has started, before the next in line is made ready: short runs never need it."""
WATCHFUL: Seconds = 1.0
"""The same once a controller has been lost."""
STANDBY_PATIENCE: Seconds = 10.0
"""For a process with everything loaded to listen. One that is stopped never does; another is started in its place."""
PATIENCE: Seconds = 30.0
"""For reports at the end of a run."""


@final
@dataclass(slots=True)
class _Controller:
    """One that was asked for.

    Attributes:
        number: of the run in its script.
        options: of `tailcut controller`.
        process: the newest of those that were started for it.
        started: when that was, in the clock's seconds.
        has_stood_by: whether that process had everything loaded before.
        is_awaited: whether that process does not listen yet.
        address: where it listens, as all that come after it do; empty until it does.
        term: how many were started.
        ended: when its process had ended; None as long as it runs.
    """

    number: int
    options: dict[str, Any]
    process: ControllerProcess
    started: Seconds
    has_stood_by: bool = False
    is_awaited: bool = True
    address: str = ""
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
        restarts: whether workers that are killed are started again.
    """

    def __init__(
        self,
        folder: Path,
        tell: Callable[[str], None] | None = None,
        around: Mapping[str, str] | None = None,
        restarts: bool = False,
    ) -> None:
        self._restarts = restarts
        self._folder, self._tell = folder, tell or partial(print, file=sys.stderr, flush=True)
        self._descriptors = DescriptorWatch("The launcher", lambda warning: self._tell(f"tailcut: {warning}"))
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

    @property
    def resumes(self) -> bool:
        """Whether a run without a state returns to its newest checkpoint: workers that are all killed start again."""
        return any(each.options["resumes"] for each in self._controllers)

    def came_late(self, process: int) -> bool:
        """Whether a worker's process has said that it came after the run, or after its own part in it."""
        return (self._folder / _lateness(process)).exists()

    def failing(self) -> list[int]:
        """Return the workers' processes that have said that they end with an error, in that order."""
        try:
            return [int(line) for line in (self._folder / FAILING).read_text().split()]
        except FileNotFoundError:
            return []

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
        self._descriptors.look(now)
        asked = self._folder / asking(len(self._controllers))
        if asked.exists():
            self._start(json.loads(asked.read_text()), now)
            self._standby_due = now + SETTLED if self._standby is None else math.inf
        for each in list(self._controllers):
            if each.is_awaited:
                self._await(each, now)
                continue
            if each.process.code == 0:
                (self._folder / _ending(each.address)).touch()
            self._see_to(each, now)
        if now >= self._standby_due:
            self._standby_due = now + WATCHFUL
            # Where there is no room for one more process, the next controller takes a little longer.
            with suppress(OSError):
                self._standby, self._standby_due = waiting(self._around), math.inf

    def end(self, at_once: bool) -> None:
        """End all controllers, and the store.

        Args:
            at_once: the run has failed. Otherwise controllers that have seen all workers out may write their reports.
        """
        for each in list(self._controllers):
            if each.is_awaited and not at_once:
                # On a busy machine a run can go on with another controller, and end, between two looks.
                self._await(each, each.started)
            # All workers have ended: a controller that does not listen yet would wait for them in vain.
            each.process.end(at_once or each.is_awaited, PATIENCE)
        _drop(self._take_standby())
        with suppress(OSError):
            self._listener.close()
        self._store = None

    def _start(self, options: dict[str, Any], now: Seconds) -> None:
        number = len(self._controllers)
        # The policy's state is saved among the checkpoints, so this option says whether there are any.
        options["resumes"] = int(self._restarts and bool(options.get("saved")))
        options["saved"] = options.get("saved") or str(self._folder / f"policy-{number}.safetensors")
        try:
            process = ControllerProcess(options, self._tell, self._around)
        except InputError as problem:
            self._refuse(number, problem)
        else:
            self._controllers.append(_Controller(number, options, process, now))

    def _await(self, it: _Controller, now: Seconds) -> None:
        """See whether it listens by now. It is never waited for: the launcher has workers to look after."""
        try:
            it.is_awaited = not it.process.wait_until_listening(0.0)
        except InputError as problem:
            it.is_awaited = False
            if it.term > 1:
                self._tell(f"tailcut: The controller could not be started again: {problem}")
            else:
                self._controllers.remove(it)
                self._refuse(it.number, problem)
            return
        if it.is_awaited:
            if it.has_stood_by and now - it.started > STANDBY_PATIENCE:
                it.process.kill()
                self._begin_again(it, now, standby=None)
        elif it.term > 1:
            self._tell(
                f"tailcut: The controller had ended before the run. Its place is taken, in term {it.term}."
            )
        else:
            # Another one may have had the same port.
            it.address = it.process.address
            (self._folder / _ending(it.address)).unlink(missing_ok=True)
            self._publish(it.number, it.address)

    def _refuse(self, number: int, problem: InputError) -> None:
        """Say why there is no controller."""
        self._publish(number, f"{FAILED}{problem}")
        # Nobody else is asked for: whoever has asked fails, and with it the run.
        (self._folder / asking(number)).unlink()

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
        standby = self._take_standby()
        if standby is not None and not has_loaded(standby):
            # It loads at the lowest priority, which takes longer than to start another one.
            _drop(standby)
            standby = None
        self._begin_again(it, now, standby)

    def _take_standby(self) -> Child | None:
        standby, self._standby = self._standby, None
        return standby

    def _begin_again(self, it: _Controller, now: Seconds, standby: Child | None) -> None:
        """Start its next process, at the same address and with its term."""
        try:
            options = it.options | {"address": it.address, "term": it.term}
            it.process = ControllerProcess(options, self._tell, self._around, standby)
        except InputError as problem:
            self._tell(f"tailcut: The controller could not be started again: {problem}")
            it.is_awaited = False
            return
        it.started, it.has_stood_by, it.is_awaited = now, standby is not None, True
        if self._standby is None:
            self._standby_due = now + WATCHFUL

    def _publish(self, number: int, what: str) -> None:
        with replacing(self._folder / answering(number), lasting=False) as draft:
            draft.write(what.encode())


def _drop(standby: Child | None) -> None:
    """End a process that nobody needs any more."""
    if standby is not None:
        standby.kill()
        standby.communicate()


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


def note_failing() -> None:
    """Tell the host, if there is one, that this process ends with an error."""
    folder = host_folder()
    if folder is not None:
        with suppress(OSError), (folder / FAILING).open("a") as file:
            file.write(f"{os.getpid()}\n")


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
