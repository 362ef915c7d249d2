"""How a worker finds the others: places from the environment, a store, and a controller that worker 0 starts."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from typing import final

import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from tailcut.errors import InputError
from tailcut.types import Seconds

_ADDRESS = "controller"
_RUNS = itertools.count()


@final
@dataclass(frozen=True, slots=True)
class Start:
    """What is asked of the controller.

    Attributes:
        policy: its name. rate: name of the learning-rate rule. late: `finish` or `abandon`.
        total: version at which the run ends.
        max_wait: seconds.
        journal: folder that the controller keeps the run in; None for none.
    """

    policy: str
    rate: str
    late: str
    total: int | None
    max_wait: Seconds
    journal: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Started:
    """Where this worker stands.

    Attributes:
        ask: what was asked for.
        worker, workers: its place, and how many there are.
        node: of its machine.
        host: its address, for others.
        process: its number.
        store: where workers find each other.
        controller: its address.
        child: the controller's process, at the worker that started it.
    """

    ask: Start
    worker: int
    workers: int
    node: int
    host: str
    process: int
    store: Store
    controller: str
    child: subprocess.Popen[str] | None = field(default=None, compare=False)

    def end(self) -> None:
        """See the controller out, where this worker has started it."""
        if self.child is not None:
            _ = self.child.wait()


def started(ask: Start) -> Started:
    """Find the others.

    Raises:
        InputError: the environment does not say who this worker is.
    """
    store, worker, workers = _store()
    # A script may wrap several optimisers; all its workers do so in the same order.
    mine = PrefixStore(f"tailcut/{next(_RUNS)}", store)
    node = int(os.environ.get("GROUP_RANK", "0"))
    host = _host(workers)
    child = None
    if worker == 0:
        child, address = _controller(ask, workers, host)
        mine.set(_ADDRESS, address)
    address = mine.get(_ADDRESS).decode()
    return Started(ask, worker, workers, node, host, os.getpid(), mine, address, child)


def _store() -> tuple[Store, int, int]:
    if dist.is_initialized():
        # The only way to the store that the user's own process group was made with.
        store = dist.distributed_c10d._get_default_store()
        return store, dist.get_rank(), dist.get_world_size()
    missing = [
        name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ
    ]
    if missing:
        raise InputError(
            f"{', '.join(missing)} is not set, so this worker does not know its place. Start the script with "
            "`tailcut launch -n 8 script.py` or with torchrun."
        )
    return _rendezvous()


@cache
def _rendezvous() -> tuple[Store, int, int]:
    """Once: worker 0 is where the store lives."""
    store, worker, workers = next(iter(rendezvous("env://")))
    return store, worker, workers


def _host(workers: int) -> str:
    """This machine as the others see it; alone on one machine, the loopback address."""
    local = int(os.environ.get("LOCAL_WORLD_SIZE", "0"))
    if local == workers or os.environ.get("MASTER_ADDR") in ("127.0.0.1", "localhost"):
        return "127.0.0.1"
    return socket.gethostbyname(socket.gethostname())


def _controller(ask: Start, workers: int, host: str) -> tuple[subprocess.Popen[str], str]:
    """Start the controller. It ends with the run, or with this process: it holds the other end of its input."""
    options = {
        "workers": workers,
        "policy": ask.policy,
        "rate": ask.rate,
        "late": ask.late,
        "max-wait": ask.max_wait,
        "address": f"tcp://{host}:0",
        "total": ask.total,
        "journal": ask.journal,
    }
    command = [sys.executable, "-m", "tailcut.cli", "controller"]
    command += [f"--{name}={value}" for name, value in options.items() if value is not None]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    address = child.stdout.readline().strip()
    if not address:
        raise InputError(
            f"The controller did not start (exit code {child.wait()}); what it said stands above."
        )
    return child, address
