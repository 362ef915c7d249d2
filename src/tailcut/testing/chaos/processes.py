"""Finds the processes of a run in /proc, with the memory and open files that each uses, and ends them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import final

from tailcut.types import Seconds

PAGE = os.sysconf("SC_PAGE_SIZE")


def children(pid: int) -> list[int]:
    """Return the process ids of the present children of a process."""
    found: list[int] = []
    # The process, or one of its threads, may end meanwhile.
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, task.read_text().split())
    return found


def family(pid: int) -> list[Process]:
    """Return a process and all its descendants."""
    found = [pid]
    for each in found:
        found += children(each)
    return [Process.now(each) for each in found]


def words(pid: int) -> list[str]:
    """Return the command line of a process as words; empty if the process is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def controller_of(starter: int, known: int | None = None) -> int | None:
    """Return the process id of the controller that a launcher or a worker has started; None if there is none.

    Args:
        starter: process id of its parent.
        known: the controller that was found last, which is returned while it is alive.
    """
    if known is not None and is_alive(known):
        return known
    # A standby controller runs the same program, but has no listening socket.
    commands = (pid for pid in children(starter) if {"tailcut.cli", "tailcut.standby"} & set(words(pid)))
    return next((pid for pid in commands if is_alive(pid) and _listens(pid)), None)


def _listens(pid: int) -> bool:
    """Return whether a process has a listening TCP socket."""
    try:
        rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
        listening = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
        return any(str(file.readlink()) in listening for file in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie; a stopped one counts as alive."""
    return _state(pid) not in "ZX"


def _state(pid: int) -> str:
    return (_stat(pid) or ["X"])[0]


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name; empty if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


@final
@dataclass(frozen=True, slots=True)
class Process:
    """One process, told by its start time from later ones with the same process id."""

    pid: int
    began: str

    @classmethod
    def now(cls, pid: int) -> Process:
        """Return the process that has this process id now."""
        return cls(pid, (_stat(pid) or [""] * 20)[19])

    @property
    def is_alive(self) -> bool:
        """Return whether the process exists and is not a zombie; a stopped one counts as alive."""
        return is_alive(self.pid) and Process.now(self.pid) == self

    def tell(self, what: signal.Signals) -> None:
        """Send the process a signal, if it is alive."""
        if self.is_alive:
            with suppress(ProcessLookupError):
                os.kill(self.pid, what)


@final
@dataclass(frozen=True, slots=True)
class Use:
    """Resources of a process: resident memory in bytes, and number of open files."""

    memory: int
    files: int


def use_of(pid: int) -> Use | None:
    """Return the resources that a process uses; None if it is gone."""
    try:
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return Use(resident * PAGE, len(list(Path(f"/proc/{pid}/fd").iterdir())))
    except (OSError, IndexError):
        return None


def end(processes: Iterable[Process], patience: Seconds = 10.0) -> list[Process]:
    """Kill processes, wait at most `patience` seconds until they are gone, and return those that are not."""
    alive = [process for process in processes if process.is_alive]
    # All are stopped first: on a busy machine the last could otherwise react to the death of the first.
    for deed in (signal.SIGSTOP, signal.SIGKILL):
        for process in alive:
            process.tell(deed)
    until = time.monotonic() + patience
    while any(process.is_alive for process in alive) and time.monotonic() < until:
        time.sleep(0.02)
    return [process for process in alive if process.is_alive]
