"""Processes for tests of checkpoints: each runs one function, is talked to through a pipe, and may be killed."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from waiting import limit

PATIENCE = limit(60.0)


def state_of(version: int, numbers: int = 1000) -> dict[str, Any]:
    return {"version": version, "net": torch.arange(numbers) * version}


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def child(function: Callable[..., None], *args: Any) -> Iterator[tuple[BaseProcess, Connection]]:
    """A process that runs `function(pipe, *args)`; it is gone when the block ends."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", "torch", "tailcut.engines.live.checkpoints"])
    ours, theirs = context.Pipe()
    process = context.Process(target=function, args=(theirs, *args), daemon=True)
    process.start()
    theirs.close()
    try:
        yield process, ours
    finally:
        process.kill()
        process.join(PATIENCE)
        ours.close()
        process.close()


def answer(pipe: Connection) -> Any:
    assert pipe.poll(PATIENCE), "the process did not answer"
    return pipe.recv()
