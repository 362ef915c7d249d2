"""Start a run that is to be attacked, measure it from outside, and end it."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from benchmarks.reliability.fuzz.controlled import PATIENCE_S, Controlled, control
from benchmarks.reliability.fuzz.honest import Begun, Worked, work
from tailcut.engines.live.keys import Key

LOOKS, MOST_LOOKS = 5, 50


@dataclass(frozen=True)
class Vitals:
    """The memory of a process in kilobytes, and its open files."""

    kilobytes: int
    files: int

    @classmethod
    def of(cls, process: int) -> Vitals:
        """Read the figures of a process from `/proc`."""
        folder = Path("/proc") / str(process)
        lines = (folder / "status").read_text().splitlines()
        memory = next(line for line in lines if line.startswith("VmRSS:"))
        return cls(int(memory.split()[1]), len(list((folder / "fd").iterdir())))


@dataclass(frozen=True)
class Side:
    """One of the two processes, and the pipe to it."""

    process: BaseProcess
    pipe: Connection

    def hear(self) -> Any:
        """Return the next message of the process."""
        until = time.monotonic() + PATIENCE_S
        while not self.pipe.poll(0.1):
            if time.monotonic() > until or not self.process.is_alive():
                raise AssertionError(
                    f"{self.process.name} says nothing; its exit code is {self.process.exitcode}"
                )
        return self.pipe.recv()

    @property
    def vitals(self) -> Vitals:
        """The current memory and open files of the process."""
        assert self.process.pid is not None
        return Vitals.of(self.process.pid)


@dataclass(frozen=True)
class Watched:
    """A run under way.

    Attributes:
        key: key of the run.
        controller, workers: its processes.
        ports: attacked addresses: of the controller, and of the first worker's update server.
        said: messages of the workers to the controller so far, encoded.
    """

    key: Key
    controller: Side
    workers: Side
    ports: dict[str, str]
    said: list[bytes]

    def rounds_per_second(self, seconds: float) -> float:
        """Return the run's rounds per second over the next `seconds`."""
        began, first = time.monotonic(), self.version
        time.sleep(seconds)
        return (self.version - first) / (time.monotonic() - began)

    @property
    def version(self) -> int:
        """The current version of the workers."""
        self.workers.pipe.send("version")
        version: int = self.workers.hear()
        return version

    def settled(self) -> tuple[Vitals, Vitals]:
        """Wait until the number of open files is stable, and return the figures of controller and workers."""
        files: list[int] = []
        while len(files) < MOST_LOOKS and not (len(files) >= LOOKS and len(set(files[-LOOKS:])) == 1):
            time.sleep(0.1)
            found = self.controller.vitals, self.workers.vitals
            files.append(sum(each.files for each in found))
        return found

    def end(self) -> tuple[Controlled, Worked]:
        """Tell the workers to end, and return the final states of controller and workers."""
        self.workers.pipe.send("end")
        worked: Worked = self.workers.hear()
        controlled: Controlled = self.controller.hear()
        return controlled, worked


@contextmanager
def running(key: Key) -> Iterator[Watched]:
    """Start a run and yield it in the midst of its rounds."""
    spawn = multiprocessing.get_context("spawn")
    sides: list[Side] = []

    def start(name: str, target: Any, *arguments: Any) -> Side:
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=target, args=(*arguments, theirs), name=name, daemon=True)
        process.start()
        theirs.close()
        sides.append(Side(process, ours))
        return sides[-1]

    try:
        controller = start("the controller", control, key.secret.decode())
        address = controller.hear()
        workers = start("the workers", work, key.secret.decode(), address)
        begun: Begun = workers.hear()
        ports = {"controller": address, "updates": begun.addresses[0]}
        yield Watched(key, controller, workers, ports, begun.said)
    finally:
        for side in sides:
            side.process.join(5.0)
            if side.process.is_alive():
                side.process.kill()
                side.process.join(5.0)
            side.pipe.close()
