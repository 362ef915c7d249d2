"""The controller's process, as the process that has started it sees it: worker 0, or the launcher."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import TypeAlias, final

from tailcut.engines.live.interruptions import IGNORING
from tailcut.errors import InputError
from tailcut.types import Seconds

PATIENCE: Seconds = 5.0
"""Longest wait for a controller that was told to end, in seconds."""
DESERTED = 4
"""Exit code of a controller whose workers have all disconnected before the end of the run."""
_SAYS = "tailcut: "

Child: TypeAlias = "subprocess.Popen[str]"


def waiting(environment: Mapping[str, str] | None = None) -> Child:
    """Start a process that loads all modules and waits to become a controller. It ends with this one."""
    return _process("tailcut.standby", [], environment)


def has_loaded(standby: Child) -> bool:
    """Return whether such a process has loaded its modules, after which it prints a line, and still runs."""
    assert standby.stdout is not None
    said, _, _ = select.select([standby.stdout], [], [], 0.0)
    return bool(said) and standby.poll() is None


def _process(module: str, command: Sequence[str], environment: Mapping[str, str] | None) -> Child:
    pipe, whole = subprocess.PIPE, [*IGNORING, sys.executable, "-m", module, *command]
    return subprocess.Popen(whole, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)


@final
class ControllerProcess:
    """The process of one controller. It listens some time after its start: see `wait_until_listening`.

    It ends with the run, or with this process, which holds the other end of its standard input.

    Args:
        options: options of `tailcut controller` by name; None for one that is left out.
        tell: is called with each line that it prints for people, from a thread; by default to standard error.
        environment: environment of its process; by default this one's.
        standby: a process from `waiting` that `has_loaded`, to listen at once; None to start a new one.

    Attributes:
        address: its address, to connect to; empty until it listens.

    Raises:
        InputError: its process could not be started.
    """

    def __init__(
        self,
        options: Mapping[str, object],
        tell: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
        standby: Child | None = None,
    ) -> None:
        self._tell = tell or partial(print, file=sys.stderr, flush=True)
        given = [f"--{name}={value}" for name, value in options.items() if value is not None]
        command = ["controller", *given]
        if standby is not None:
            self._child = standby
            with suppress(OSError):  # it has just ended, which `wait_until_listening` tells
                assert standby.stdin is not None
                assert standby.stdout is not None
                standby.stdout.readline()
                print(json.dumps(command), file=standby.stdin, flush=True)
        else:
            try:
                self._child = _process("tailcut.cli", command, environment)
            except OSError as problem:
                raise InputError(
                    f"The controller's process could not be started ({problem.strerror}). Start fewer workers, or "
                    "raise the limits on processes and open files (ulimit -u, ulimit -n)."
                ) from problem
        self.address, self._answered = "", Event()
        # A process that is suspended, by a signal or a debugger, never answers: only a thread waits for it.
        self._relay = Thread(target=self._hear, name="tailcut-controller", daemon=True)
        self._relay.start()

    @property
    def code(self) -> int | None:
        """Return its exit code; None as long as it runs."""
        return self._child.poll()

    def wait_until_listening(self, patience: Seconds) -> bool:
        """Wait so many seconds at most; return whether workers can connect.

        Raises:
            InputError: it has ended instead; the message is its own, if it printed one.
        """
        if not self._answered.wait(patience):
            return False
        if not self.address:
            code, why = self._failed()
            raise InputError(why or f"The controller ended with exit code {code} before the run began.")
        return True

    def kill(self) -> None:
        """Kill the process, also where it is suspended and would not notice that it is to end."""
        self._child.kill()
        self.end(at_once=True)

    def end(self, at_once: bool, patience: Seconds | None = None) -> None:
        """Wait for the process to end, and kill it if it takes too long.

        Args:
            at_once: end it now, not with the run: its input is closed, and it tells the other workers.
            patience: seconds to wait for it otherwise; None for as long as it takes.
        """
        assert self._child.stdin is not None
        if at_once:
            self._child.stdin.close()
            if not self.address:
                # No worker is connected yet, and it would first load all its modules.
                self._child.kill()
        try:
            _ = self._child.wait(PATIENCE if at_once else patience)
        except subprocess.TimeoutExpired:
            self._child.kill()
            _ = self._child.wait()
        self._relay.join(PATIENCE)
        for each in (self._child.stdin, self._child.stdout, self._child.stderr):
            if each is not None and not self._relay.is_alive():
                each.close()

    def _hear(self) -> None:
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        self.address = self._child.stdout.readline().strip()
        self._answered.set()
        if not self.address:
            return
        with self._child.stderr as said:
            for line in said:
                self._tell(line.rstrip("\n"))

    def _failed(self) -> tuple[int, str]:
        """Return exit code and error of a process that ended before it listened; pass on its other lines."""
        _, said = self._child.communicate()
        *others, last = said.strip().splitlines() or [""]
        if not last.startswith(_SAYS):
            others, last = [*others, last], ""
        for line in others:
            self._tell(line)
        return self._child.returncode, last.removeprefix(_SAYS)
