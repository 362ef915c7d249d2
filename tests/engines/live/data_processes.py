"""Worker processes for tests: started once, then given one function after another to run."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch
from torch._C._distributed_c10d import FileStore, PrefixStore

from tailcut.engines.live.data import Group, mesh
from waiting import limit

PATIENCE = limit(60.0)


@dataclass(frozen=True)
class Here:
    """The process group, the store and the place that a function gets in a worker process."""

    place: int
    size: int
    store: Any
    group: Group

    def another(self, name: str, timeout: float, lazy: bool = False) -> Group:
        """Return a separate group, which the caller may break."""
        return mesh(PrefixStore(name, self.store), self.place, self.size, timeout, "127.0.0.1", lazy)


@dataclass(frozen=True)
class Crew:
    """Processes and the pipes to them."""

    members: list[tuple[BaseProcess, Connection]]

    def run(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """`function(here, *args)` in every process at once; what each returned, or its error's words."""
        for _, pipe in self.members:
            pipe.send((function, args))
        return [self._answer(process, pipe) for process, pipe in self.members]

    def _answer(self, process: BaseProcess, pipe: Connection) -> Any:
        if not pipe.poll(PATIENCE):
            raise AssertionError(f"process {process.pid} did not answer in {PATIENCE} s")
        good, answer = pipe.recv()
        assert good, answer
        return answer


@contextmanager
def crew(size: int, folder: Path) -> Iterator[Crew]:
    spawn = multiprocessing.get_context("spawn")
    members: list[tuple[BaseProcess, Connection]] = []
    for place in range(size):
        ours, theirs = spawn.Pipe()
        process: BaseProcess = spawn.Process(
            target=_live, args=(place, size, str(folder / "store"), theirs), daemon=True
        )
        process.start()
        theirs.close()
        members.append((process, ours))
    try:
        yield Crew(members)
    finally:
        for _, pipe in members:
            with suppress(OSError):
                pipe.send(None)
        for process, pipe in members:
            _end(process, pipe)


def _end(process: BaseProcess, pipe: Connection) -> None:
    process.join(limit(5.0))
    if process.is_alive():
        process.kill()
        process.join(limit(5.0))
    pipe.close()
    process.close()


def _live(place: int, size: int, path: str, pipe: Connection) -> None:
    torch.set_num_threads(1)
    store = FileStore(path, size)
    here = Here(place, size, store, mesh(store, place, size, PATIENCE, "127.0.0.1"))
    while (asked := pipe.recv()) is not None:
        function, args = asked
        try:
            pipe.send((True, function(here, *args)))
        except Exception as problem:
            pipe.send((False, f"worker {place}: {type(problem).__name__}: {problem}"))
