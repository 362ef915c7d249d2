"""The controller's process, as the worker sees it that has started it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from threading import Thread
from typing import final

from tailcut.errors import InputError
from tailcut.types import Seconds

PATIENCE: Seconds = 5.0
"""For a controller that was told to end."""
_SAYS = "tailcut: "


@final
class ControllerProcess:
    """Started, and listening.

    It ends with the run, or with this process: this one holds the other end of its input. What it says to people is
    passed on to the screen.

    Args:
        options: of `tailcut controller`; None for one that is left out.

    Attributes:
        address: to connect to.

    Raises:
        InputError: it did not start; the sentence is its own.
    """

    def __init__(self, options: Mapping[str, object]) -> None:
        command = [sys.executable, "-m", "tailcut.cli", "controller"]
        command += [f"--{name}={value}" for name, value in options.items() if value is not None]
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self._last = ""
        self._relay = Thread(target=self._pass_on, name="tailcut-controller", daemon=True)
        assert self._child.stdout is not None
        self.address = self._child.stdout.readline().strip()
        if not self.address:
            code, why = self._failed()
            raise InputError(why or f"The controller ended with exit code {code} before the run began.")
        self._relay.start()

    def end(self, at_once: bool) -> None:
        """See it out.

        Args:
            at_once: do not wait for the run to end; the other workers are told.
        """
        assert self._child.stdin is not None
        if at_once:
            self._child.stdin.close()
        try:
            _ = self._child.wait(PATIENCE if at_once else None)
        except subprocess.TimeoutExpired:
            self._child.kill()
            _ = self._child.wait()
        self._relay.join(PATIENCE)
        for each in (self._child.stdin, self._child.stdout):
            if each is not None:
                each.close()

    def _pass_on(self) -> None:
        assert self._child.stderr is not None
        with self._child.stderr as said:
            for line in said:
                print(line, end="", file=sys.stderr, flush=True)

    def _failed(self) -> tuple[int, str]:
        """Exit code and last sentence of one that ended before it began; whatever else it said is passed on."""
        _, said = self._child.communicate()
        *others, last = said.strip().splitlines() or [""]
        if not last.startswith(_SAYS):
            others, last = [*others, last], ""
        for line in others:
            print(line, file=sys.stderr)
        return self._child.returncode, last.removeprefix(_SAYS)
