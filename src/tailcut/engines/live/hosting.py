"""The host of one machine's workers: the store in which they find each other, and their controllers.

The launcher is the host, and outlives every worker. Workers ask it for a controller by a file in a folder
that only this user can read, and find the address in another. A killed controller is replaced at the same
address, with the next term: workers tell the replacement controller where the run stands. A controller that
has lost all workers is replaced too: if it was stopped for long their connections have broken, but they are
still there.
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
"""Prefix of an error message that is published in place of the address."""
MOST_SHORT_LIVES = 8
"""Most quick restarts in a row after which a controller is still restarted."""
PAUSES: tuple[Seconds, Seconds, Seconds] = (0.1, 1.0, 2.0)
"""Restart backoff in seconds: first pause, longest pause, and the uptime that resets the pause."""
SETTLED: Seconds = 5.0
"""Seconds after the start of a controller until a standby process is started: short runs never need one."""
WATCHFUL: Seconds = 1.0
"""Seconds until the next standby process is started, once a controller was replaced."""
STANDBY_PATIENCE: Seconds = 10.0
"""Seconds for a standby process to listen. A stopped one never does; another process then replaces it."""
PATIENCE: Seconds = 30.0
"""Seconds that controllers have to write their reports at the end of a run."""


@final
@dataclass(slots=True)
class _Controller:
    """A controller that workers have asked for.

    Attributes:
        number: number of the run in its script.
        options: options of `tailcut controller`.
        process: the newest process that was started for it.
        started: when that was, in the clock's seconds.
        has_stood_by: whether that process was a standby process.
        is_awaited: whether that process does not listen yet.
        address: address of it and all its replacements; empty until it listens.
        term: number of processes that were started for it.
        ended: when its process was seen to have ended, in the clock's seconds; None as long as it runs.
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
    """The host of the workers of one machine.

    Args:
        folder: folder that only this user can read.
        tell: is given what controllers say to people; by default that goes to standard error.
        around: environment of this process, with the run's key if it has one; by default `os.environ`.
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
        """The environment of workers, which tells them of this host."""
        return {**self._around, STORE: f"127.0.0.1:{self._port}", FOLDER: str(self._folder)}

    @property
    def is_over(self) -> bool:
        """Return whether a run is over and its controller has ended: no worker can rejoin it."""
        return any(each.process.code == 0 for each in self._controllers)

    @property
    def resumes(self) -> bool:
        """Return whether a run resumes from its newest checkpoint if all workers were killed and restart."""
        return any(each.options["resumes"] for each in self._controllers)

    def came_late(self, process: int) -> bool:
        """Return whether a worker's process has said that it came after the run, or after its part in it."""
        return (self._folder / _lateness(process)).exists()

    def failing(self) -> list[int]:
        """Return the workers' processes that have said that they end with an error, in that order."""
        try:
            return [int(line) for line in (self._folder / FAILING).read_text().split()]
        except FileNotFoundError:
            return []

    def open_store(self) -> None:
        """Open the store in which workers find each other. Takes as long as importing torch."""
        from torch._C._distributed_c10d import TCPStore

        self._listener.listen(128)
        # On the loopback address alone: by default torch listens on all.
        self._store = TCPStore(
            "127.0.0.1",
            self._port,
            is_master=True,
            wait_for_workers=False,
            master_listen_fd=self._listener.detach(),
        )

    def look(self, now: Seconds) -> None:
        """Start controllers that workers ask for, replace killed ones, and keep a standby process ready."""
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
            at_once: whether the run has failed. If not, controllers may write reports once all workers left.
        """
        for each in list(self._controllers):
            if each.is_awaited and not at_once:
                # On a busy machine a run can get a replacement controller and end between two checks.
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
        """Check whether a controller listens by now, without waiting: the launcher must watch its workers."""
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
            # An earlier controller may have had the same port.
            it.address = it.process.address
            (self._folder / _ending(it.address)).unlink(missing_ok=True)
            self._publish(it.number, it.address)

    def _refuse(self, number: int, problem: InputError) -> None:
        """Publish why there is no controller."""
        self._publish(number, f"{FAILED}{problem}")
        # The request is removed: the worker that has made it fails, and with it the run.
        (self._folder / asking(number)).unlink()

    def _see_to(self, it: _Controller, now: Seconds) -> None:
        if not it.process.code:
            return
        it.ended = now if it.ended is None else it.ended
        # Asked first: it forgets the short lives before a long one.
        due = it.backoff.due(it.ended)
        if now < due or it.backoff.times > MOST_SHORT_LIVES:
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
        """Start the next process of a controller, at the same address and with its term."""
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
    """End a standby process that is not needed."""
    if standby is not None:
        standby.kill()
        standby.communicate()


def asking(run: int) -> str:
    """Return the name of the file that asks for a controller, by the number of the run in its script."""
    return f"ask-{run}.json"


def answering(run: int) -> str:
    """Return the name of the file with the controller's address."""
    return f"controller-{run}"


def ask(folder: Path, run: int, options: Mapping[str, object]) -> None:
    """Ask the host for a controller, unless a worker has asked already."""
    file = folder / asking(run)
    if not file.exists():
        with replacing(file, lasting=False) as draft:
            draft.write(json.dumps(dict(options)).encode())


def answer(folder: Path, run: int) -> str | None:
    """Return the host's answer: an address, or an error message after `FAILED`; None if there is none yet."""
    file = folder / answering(run)
    return file.read_text() if file.exists() else None


def note_late() -> None:
    """Tell the host, if there is one, that this process came too late: its failure is not that of the run."""
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
    """Return whether the host says that the controller at this address has completed its run."""
    folder = host_folder()
    return folder is not None and (folder / _ending(address)).exists()


def _lateness(process: int) -> str:
    return f"late-{process}"


def _ending(address: str) -> str:
    return f"over-{address.rpartition(':')[2]}"


def host_folder() -> Path | None:
    """Return the folder of this process's host; None if it has no host."""
    named = os.environ.get(FOLDER)
    return None if not named else Path(named)
