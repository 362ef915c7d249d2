"""Two network namespaces of this machine with a link between them that can be cut.

    left ── cable ── middle ── cable ── right

The middle is a bridge. Cutting takes its end of the right cable down: both sides keep their addresses and
routes, and packets between them are lost. Needs root and iproute2.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import final

from tailcut.errors import TailcutError

ADDRESSES = {"left": "10.77.0.1", "right": "10.77.0.2"}
"""The IP addresses of the two sides."""
_HOSTS = Path("/etc/netns")
"""Folder from which `ip netns exec` takes files that replace those in /etc."""


class NetworkError(TailcutError):
    """Raised when this machine cannot create namespaces; the message says why."""


@final
class Cable:
    """The two namespaces and the link between them, which exist while the context is entered.

    Raises:
        NetworkError: this machine does not allow it.
    """

    def __init__(self) -> None:
        self._name = f"tailcut{os.getpid()}"

    def __enter__(self) -> Cable:
        try:
            self._lay()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def command(self, side: str, command: Sequence[str]) -> list[str]:
        """Return the command line that runs a command on one side. The started process is the command."""
        return ["ip", "netns", "exec", self._place(side), *command]

    def cut(self) -> None:
        """Cut the link: nothing gets through from here on."""
        _ip("-n", self._place("middle"), "link", "set", "to-right", "down")

    def mend(self) -> None:
        """Repair the link."""
        _ip("-n", self._place("middle"), "link", "set", "to-right", "up")

    def _place(self, side: str) -> str:
        return f"{self._name}-{side}"

    def _lay(self) -> None:
        middle = self._place("middle")
        _ip("netns", "add", middle)
        _ip("-n", middle, "link", "add", "bridge", "type", "bridge")
        _ip("-n", middle, "link", "set", "bridge", "up")
        for side, address in ADDRESSES.items():
            place = self._place(side)
            self._write_hosts(place, address)
            _ip("netns", "add", place)
            _ip(
                "-n",
                middle,
                "link",
                "add",
                f"to-{side}",
                "type",
                "veth",
                "peer",
                "name",
                "net",
                "netns",
                place,
            )
            _ip("-n", middle, "link", "set", f"to-{side}", "master", "bridge")
            _ip("-n", middle, "link", "set", f"to-{side}", "up")
            _ip("-n", place, "addr", "add", f"{address}/24", "dev", "net")
            _ip("-n", place, "link", "set", "lo", "up")
            _ip("-n", place, "link", "set", "net", "up")

    def _write_hosts(self, place: str, address: str) -> None:
        """Let the machine's own name resolve to its address inside the namespace."""
        folder = _HOSTS / place
        try:
            folder.mkdir(parents=True)
            (folder / "hosts").write_text(f"127.0.0.1 localhost\n{address} {socket.gethostname()}\n")
        except OSError as problem:
            raise NetworkError(
                f"{folder} cannot be written ({problem.strerror}). Run this as root."
            ) from None

    def _remove(self) -> None:
        for side in ("left", "right", "middle"):
            place = self._place(side)
            subprocess.run(["ip", "netns", "del", place], capture_output=True, check=False)
            shutil.rmtree(_HOSTS / place, ignore_errors=True)


def _ip(*words: str) -> None:
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=20.0, check=False)
    except FileNotFoundError:
        raise NetworkError("There is no `ip` command here. Install iproute2.") from None
    if done.returncode:
        raise NetworkError(f"`ip {' '.join(words)}` failed: {done.stderr.strip()}. Run this as root.")
