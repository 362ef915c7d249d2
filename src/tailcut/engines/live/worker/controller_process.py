"""The controller's process, as whoever has started it sees it: worker 0, or the launcher."""

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
"""For a controller that was told to end."""
DESERTED = 4
"""Exit code of a controller whose workers have all vanished before the end of the run."""
_SAYS = "tailcut: "

Child: TypeAlias = "subprocess.Popen[str]"


def waiting(environment: Mapping[str, str] | None = None) -> Child:
    """A process that has everything loaded and waits to be a controller. It ends with this one."""
    return _process("tailcut.standby", [], environment)


def has_loaded(standby: Child) -> bool:
    """Whether it has, and lives: it has said a line."""
    assert standby.stdout is not None
    said, _, _ = select.select([standby.stdout], [], [], 0.0)
    return bool(said) and standby.poll() is None


def _process(module: str, command: Sequence[str], environment: Mapping[str, str] | None) -> Child:
    pipe, whole = subprocess.PIPE, [*IGNORING, sys.executable, "-m", module, *command]
    return subprocess.Popen(whole, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)


@final
class ControllerProcess:
    """Started; it listens some time later, which `wait_until_listening` tells.

    It ends with the run, or with this process: this one holds the other end of its input.

    Args:
        options: of `tailcut controller`; None for one that is left out.
        tell: is given what it says to people, line by line, from a thread; by default that goes to standard error.
        environment: of its process; by default this one's.
        standby: a process that waits to be it, `has_loaded`, and so listens at once; None for a new one.

    Attributes:
        address: to connect to; empty until it listens.

    Raises:
        InputError: the machine has no room for its process.
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
            with suppress(OSError):  # it has just ended, which its silence tells
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
        # A process that is stopped, by a signal or a debugger, never answers: only this thread waits for it.
        self._relay = Thread(target=self._hear, name="tailcut-controller", daemon=True)
        self._relay.start()

    @property
    def code(self) -> int | None:
        """It has ended with; None as long as it runs."""
        return self._child.poll()

    def wait_until_listening(self, patience: Seconds) -> bool:
        """Wait so many seconds at most; return whether workers can connect.

        Raises:
            InputError: it has ended instead; the sentence is its own.
        """
        if not self._answered.wait(patience):
            return False
        if not self.address:
            code, why = self._failed()
            raise InputError(why or f"The controller ended with exit code {code} before the run began.")
        return True

    def kill(self) -> None:
        """End it at once, also where it is stopped and would not notice that it is to end."""
        self._child.kill()
        self.end(at_once=True)

    def end(self, at_once: bool, patience: Seconds | None = None) -> None:
        """See it out.

        Args:
            at_once: do not wait for the run to end; the other workers are told.
            patience: seconds to wait for it otherwise; None for as long as it takes.
        """
        assert self._child.stdin is not None
        if at_once:
            self._child.stdin.close()
            if not self.address:
                # Nobody is connected yet, and it would first load everything that it needs.
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
        """Exit code and last sentence of one that ended before it began; whatever else it said is passed on."""
        _, said = self._child.communicate()
        *others, last = said.strip().splitlines() or [""]
        if not last.startswith(_SAYS):
            others, last = [*others, last], ""
        for line in others:
            self._tell(line)
        return self._child.returncode, last.removeprefix(_SAYS)
