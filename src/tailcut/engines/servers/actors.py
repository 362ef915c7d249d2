"""The processes of a run: thin classes that Ray runs as actors, and the calls that they answer."""

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
"""Concurrency group of the calls that are answered while another call computes."""

Prepare = Callable[[str, int], None]
"""Function called in every new process with `worker` or `shard` and its number, before anything else."""


def prepare_nothing(kind: str, number: int) -> None:
    """Leave the process as it is."""
    del kind, number


@final
@dataclass(frozen=True, slots=True)
class Hello:
    """The machine and the process that an actor runs in.

    Attributes:
        host: name of the machine. process: process id. node: id of Ray's node, as text.
    """

    host: str
    process: int
    node: str


def digest_of(vector: Vector) -> bytes:
    """Return a digest of numbers, 8 bytes."""
    return blake2b(np.ascontiguousarray(vector).data, digest_size=8).digest()


def _noted(vectors: Iterable[Vector]) -> bytes:
    """Return the digests of vectors, one after the other; empty unless a test watches the `points`."""
    return b"".join(map(digest_of, vectors)) if points.is_watched() else b""


def _hello() -> Hello:
    import ray

    return Hello(socket.gethostname(), os.getpid(), ray.get_runtime_context().get_node_id())


@final
class WorkerActor:
    """The actor of one worker.

    Args:
        setting: what to train. worker: id of the worker. shards: number of shards.
        prepare: called first.
    """

    def __init__(self, setting: Setting, worker: WorkerId, shards: int, prepare: Prepare) -> None:
        torch.set_num_threads(1)
        prepare("worker", worker)
        self._shards = shards
        self._computing = Computing(setting, worker, shards)
        self._dropped = -1

    def hello(self) -> Hello:
        """Return where the actor runs; the answer shows that it has started."""
        return _hello()

    def compute(self, job: Job, serial: int, *parameters: Vector) -> tuple[Any, ...]:
        """Return the report on a job, then its gradient in one piece for each shard.

        Args:
            job: what to do.
            serial: number of this call, by which `drop` names it.
            parameters: one array for each shard.
        """
        points.at("computing", job.version, _noted(parameters))
        came, gradient = self._computing.compute(job, parameters, lambda: serial <= self._dropped)
        points.at("computed", job.version, _noted(gradient))
        return (came, *(gradient if gradient else (None,) * self._shards))

    def drop(self, serial: int) -> None:
        """Stop the call with this serial number, and all before it, at the next micro-batch."""
        self._dropped = max(self._dropped, serial)


@final
class ShardActor:
    """The actor of one shard.

    Args:
        number: index of the shard. optimiser: name of its optimizer.
        telling: selects the numbers used to estimate the noise.
        prepare: called first.
    """

    def __init__(self, number: int, optimiser: str, telling: Telling, prepare: Prepare) -> None:
        torch.set_num_threads(1)
        prepare("shard", number)
        self._shard = Shard(number, optimiser, telling.mask())

    def hello(self) -> Hello:
        """Return where the actor runs; the answer shows that it has started."""
        return _hello()

    def give(self, version: int, vector: Vector, state: Arrays) -> Answer:
        """Start, or start again, from these parameters."""
        points.at("giving", version, _noted([vector]))
        return self._shard.give(Piece(version, vector, state))

    def weigh(self, order: Order, *gradients: Vector) -> Answer:
        """Return the norms of an update without applying it."""
        return self._shard.weigh(order, gradients)

    def apply(self, order: Order, *gradients: Vector) -> tuple[Answer, Vector | None, Arrays | None]:
        """Apply an update; return the answer, and the parameters and the optimizer state after it."""
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
