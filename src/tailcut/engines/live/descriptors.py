"""The file descriptors of this process: as many as the system allows, and a warning before they run out."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import final

from tailcut.types import Seconds

MAX_RAISED = 1 << 16
"""Highest limit that is set; no process needs more. Some programs that it starts are slow without a limit."""
FULL = 0.5
"""Share of the limit in use from which on a warning is given."""
EVERY: Seconds = 1.0
"""Seconds between two checks."""


def raise_limit() -> None:
    """Raise this process's limit on file descriptors to what its user may have. Its children inherit the limit."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MAX_RAISED if hard == resource.RLIM_INFINITY else min(hard, MAX_RAISED)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def limit() -> int:
    """Return how many file descriptors this process may have; 0 where that is unknown or unlimited."""
    with suppress(ImportError, OSError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return 0 if soft == resource.RLIM_INFINITY else soft
    return 0


def used() -> int:
    """Return how many file descriptors this process has, at least: a new one gets the lowest number that is free."""
    try:
        descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as problem:
        return limit() if problem.errno == errno.EMFILE else 0
    os.close(descriptor)
    return descriptor


def listening_ports(process: int | str = "self") -> list[int]:
    """Return the TCP ports that a process listens on, in order; none where the system does not tell."""
    if sys.platform != "linux":
        return []
    with suppress(OSError):
        root = Path(f"/proc/{process}")
        rows = [row.split() for name in ("tcp", "tcp6") for row in _lines(root / "net" / name)]
        ports = {f"socket:[{row[9]}]": int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}
        links = (_target(each) for each in (root / "fd").iterdir())
        return sorted({ports[link] for link in links if link in ports})
    return []


@final
class DescriptorWatch:
    """Warns once if most of this process's file descriptors are in use.

    Args:
        who: this process, in words.
        say: is given the warning.
        count, most, ports: return its descriptors in use, their limit and its ports; replaced in tests.

    Example:
        >>> watch = DescriptorWatch("Worker 1", print, count=lambda: 60, most=lambda: 100, ports=lambda: [4711])
        >>> watch.look(0.0)  # doctest: +ELLIPSIS
        Worker 1 has 60 of 100 file descriptors in use. ... port 4711 ... Raise the limit (ulimit -n).
        >>> watch.look(5.0)
    """

    def __init__(
        self,
        who: str,
        say: Callable[[str], None],
        *,
        count: Callable[[], int] = used,
        most: Callable[[], int] = limit,
        ports: Callable[[], list[int]] = listening_ports,
    ) -> None:
        self._who, self._say, self._count, self._most, self._ports = who, say, count, most, ports
        self._due = 0.0
        self._has_warned = False

    def look(self, now: Seconds) -> None:
        """Check the descriptors, if a check is due.

        Args:
            now: seconds by a clock that does not run backwards.
        """
        if self._has_warned or now < self._due:
            return
        self._due = now + EVERY
        in_use, most = self._count(), self._most()
        if most and in_use >= FULL * most:
            self._has_warned = True
            self._say(_warning(self._who, in_use, most, self._ports()))


def _warning(who: str, in_use: int, most: int, ports: list[int]) -> str:
    named = f"{'port' if len(ports) == 1 else 'ports'} {', '.join(map(str, ports))}" if ports else "its ports"
    return (
        f"{who} has {in_use} of {most} file descriptors in use. When none is left, it fails. Each connection that a "
        f"stranger makes to {named} may cost one: let a firewall admit only the machines of the run. Raise the limit "
        "(ulimit -n)."
    )


def _lines(table: Path) -> list[str]:
    return table.read_text().splitlines()[1:] if table.exists() else []


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""
