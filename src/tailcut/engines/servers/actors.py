"""The processes of a run: what workers and shards answer when called. Thin shells, of which Ray makes actors."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, final

import numpy as np
import torch

from tailcut.engines.live import points
from tailcut.engines.servers.computing import Computing, Setting
from tailcut.engines.servers.orders import Answer, Job, Order
from tailcut.engines.servers.pieces import Arrays, Piece, Vector
from tailcut.engines.servers.shard import Shard
from tailcut.engines.servers.slices import Telling
from tailcut.types import WorkerId

CONTROL = "control"
"""Calls of this group are answered while another one computes."""

Prepare = Callable[[str, int], None]
"""Is called in every new process with `worker` or `shard` and its number, before anything else."""


def prepare_nothing(kind: str, number: int) -> None:
    """Leave the process as it is."""
    del kind, number


@final
@dataclass(frozen=True, slots=True)
class Hello:
    """Where an actor runs.

    Attributes:
        host: the machine's name. process: its number there. node: of Ray's, as text.
    """

    host: str
    process: int
    node: str


def digest_of(vector: Vector) -> bytes:
    """Eight bytes that stand for numbers."""
    return blake2b(np.ascontiguousarray(vector).data, digest_size=8).digest()


def _noted(vectors: Iterable[Vector]) -> bytes:
    """What stands for each of them, one after the other; nothing where nobody wants to know."""
    return b"".join(map(digest_of, vectors)) if points.is_watched() else b""


def _hello() -> Hello:
    import ray

    return Hello(socket.gethostname(), os.getpid(), ray.get_runtime_context().get_node_id())


@final
class WorkerActor:
    """A worker's process.

    Args:
        setting: what to train. worker: who it is. shards: how many there are.
        prepare: is called first.
    """

    def __init__(self, setting: Setting, worker: WorkerId, shards: int, prepare: Prepare) -> None:
        torch.set_num_threads(1)
        prepare("worker", worker)
        self._shards = shards
        self._computing = Computing(setting, worker, shards)
        self._dropped = -1

    def hello(self) -> Hello:
        """It is there."""
        return _hello()

    def compute(self, job: Job, serial: int, *parameters: Vector) -> tuple[Any, ...]:
        """The gradient of a job, cut as the shards are, after what is to be said of it.

        Args:
            job: what to do.
            serial: of this call; `drop` names it.
            parameters: one array for each shard.
        """
        points.at("computing", job.version, _noted(parameters))
        came, gradient = self._computing.compute(job, parameters, lambda: serial <= self._dropped)
        points.at("computed", job.version, _noted(gradient))
        return (came, *(gradient if gradient else (None,) * self._shards))

    def drop(self, serial: int) -> None:
        """Stop the call of that serial, and all before it, at the next micro-batch."""
        self._dropped = max(self._dropped, serial)


@final
class ShardActor:
    """A shard's process.

    Args:
        number: which shard. optimiser: its name. telling: which of its numbers tell the noise.
        prepare: is called first.
    """

    def __init__(self, number: int, optimiser: str, telling: Telling, prepare: Prepare) -> None:
        torch.set_num_threads(1)
        prepare("shard", number)
        self._shard = Shard(number, optimiser, telling.mask())

    def hello(self) -> Hello:
        """It is there."""
        return _hello()

    def give(self, version: int, vector: Vector, state: Arrays) -> Answer:
        """Begin, or begin again, with these parameters."""
        points.at("giving", version, _noted([vector]))
        return self._shard.give(Piece(version, vector, state))

    def weigh(self, order: Order, *gradients: Vector) -> Answer:
        """The norms of an update, without applying it."""
        return self._shard.weigh(order, gradients)

    def apply(self, order: Order, *gradients: Vector) -> tuple[Answer, Vector | None, Arrays | None]:
        """Apply an update: the answer, the parameters and the optimiser's state after it."""
        began = time.monotonic()
        points.at("applying", order.base)
        answer = self._shard.apply(order, gradients)
        if answer.refused:
            return answer, None, None
        piece = self._shard.piece()
        points.at("applied", order.base, _noted([piece.vector, *gradients]))
        return replace(answer, seconds=time.monotonic() - began), piece.vector, piece.state

    def go_back(self, version: int) -> Answer:
        """Undo the update that followed a version, if it was made."""
        return self._shard.go_back(version)
