"""Processes of this machine, as /proc shows them: who belongs to a run, what they use, and their end, one by one."""

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
    """Of a process, now."""
    found: list[int] = []
    # It, or one of its threads, may end meanwhile.
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, task.read_text().split())
    return found


def family(pid: int) -> list[Process]:
    """A process and all below it."""
    found = [pid]
    for each in found:
        found += children(each)
    return [Process.now(each) for each in found]


def words(pid: int) -> list[str]:
    """Its command line; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def controller_of(starter: int, known: int | None = None) -> int | None:
    """The controller that a launcher, or a worker, has started; None where there is none.

    Args:
        starter: its parent.
        known: the one that was found last.
    """
    if known is not None and is_alive(known):
        return known
    # One that stands by is of the same program, but listens nowhere.
    commands = (pid for pid in children(starter) if {"tailcut.cli", "tailcut.standby"} & set(words(pid)))
    return next((pid for pid in commands if is_alive(pid) and _listens(pid)), None)


def _listens(pid: int) -> bool:
    """Whether a process waits for connections."""
    try:
        rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
        listening = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
        return any(str(file.readlink()) in listening for file in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def is_alive(pid: int) -> bool:
    """Whether a process runs, or is stopped."""
    return _state(pid) not in "ZX"


def _state(pid: int) -> str:
    return (_stat(pid) or ["X"])[0]


def _stat(pid: int) -> list[str]:
    """What /proc tells of a process after its name; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


@final
@dataclass(frozen=True, slots=True)
class Process:
    """One process, told from any that gets its number later by when it began."""

    pid: int
    began: str

    @classmethod
    def now(cls, pid: int) -> Process:
        """The one that has this number."""
        return cls(pid, (_stat(pid) or [""] * 20)[19])

    @property
    def is_alive(self) -> bool:
        """Whether it runs, or is stopped."""
        return is_alive(self.pid) and Process.now(self.pid) == self

    def tell(self, what: signal.Signals) -> None:
        """Send it a signal, if it is there."""
        if self.is_alive:
            with suppress(ProcessLookupError):
                os.kill(self.pid, what)


@final
@dataclass(frozen=True, slots=True)
class Use:
    """What a process uses: bytes of memory, and open files."""

    memory: int
    files: int


def use_of(pid: int) -> Use | None:
    """Of a process; None where it is gone."""
    try:
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return Use(resident * PAGE, len(list(Path(f"/proc/{pid}/fd").iterdir())))
    except (OSError, IndexError):
        return None


def end(processes: Iterable[Process], patience: Seconds = 10.0) -> list[Process]:
    """Kill processes and wait until they are gone; who is not."""
    alive = [process for process in processes if process.is_alive]
    # At one moment: on a busy machine the last would otherwise have time to do something about the death of the first.
    for deed in (signal.SIGSTOP, signal.SIGKILL):
        for process in alive:
            process.tell(deed)
    until = time.monotonic() + patience
    while any(process.is_alive for process in alive) and time.monotonic() < until:
        time.sleep(0.02)
    return [process for process in alive if process.is_alive]
