"""How a worker finds the others: its place, a store, and a controller that worker 0 starts."""

from __future__ import annotations

import itertools
import os
import time
from dataclasses import dataclass, field
from typing import final

from torch._C._distributed_c10d import PrefixStore, Store

from tailcut.engines.live.worker.controller_process import ControllerProcess
from tailcut.engines.live.worker.store import find_store, own_address
from tailcut.errors import InputError
from tailcut.types import Seconds

_ADDRESS, _CLAIMS, _HEARD = "controller", "claims", "heard"
_FAILED = "!"
"""Before a sentence that stands where the address should."""
PATIENCE: Seconds = 10.0
"""For the others to hear why there is no controller, before the store goes with this process."""
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
        tensorboard: folder that it writes scalars to; None for none.
    """

    policy: str
    rate: str
    late: str
    total: int | None
    max_wait: Seconds
    journal: str | None = None
    tensorboard: str | None = None


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
    child: ControllerProcess | None = field(default=None, compare=False)

    def end(self, at_once: bool = False) -> None:
        """See the controller out, where this worker has started it: when all have left, or at once."""
        if self.child is not None:
            self.child.end(at_once)


def started(ask: Start) -> Started:
    """Find the others.

    Raises:
        InputError: the environment does not say who this worker is, or there is no controller.
    """
    store, worker, workers = find_store(ask.max_wait)
    # A script may wrap several optimisers; all its workers do so in the same order.
    mine = PrefixStore(f"tailcut/{next(_RUNS)}", store)
    node, host = int(os.environ.get("GROUP_RANK", "0")), own_address(workers)
    child = _controller(ask, mine, workers, host) if worker == 0 else None
    address = child.address if child is not None else _heard(mine, ask.max_wait)
    return Started(ask, worker, workers, node, host, os.getpid(), mine, address, child)


def _controller(ask: Start, store: Store, workers: int, host: str) -> ControllerProcess:
    """Start the controller and tell the others, whatever comes of it."""
    if store.add(_CLAIMS, 1) > 1:
        raise InputError(
            "Two workers have RANK 0, and each would start a controller. Give each its own RANK."
        )
    options = {
        "workers": workers,
        "policy": ask.policy,
        "rate": ask.rate,
        "late": ask.late,
        "max-wait": ask.max_wait,
        "address": f"tcp://{host}:0",
        "total": ask.total,
        "journal": ask.journal,
        "tensorboard": ask.tensorboard,
    }
    try:
        child = ControllerProcess(options)
    except InputError as problem:
        store.set(_ADDRESS, f"{_FAILED}{problem}")
        until = time.monotonic() + min(PATIENCE, ask.max_wait)
        while store.add(_HEARD, 0) < workers - 1 and time.monotonic() < until:
            time.sleep(0.01)
        raise
    store.set(_ADDRESS, child.address)
    return child


def _heard(store: Store, max_wait: Seconds) -> str:
    """What worker 0 says of the controller."""
    until = time.monotonic() + max_wait
    while not store.check([_ADDRESS]):
        if time.monotonic() > until:
            raise InputError(
                f"Worker 0 has not started the controller within {max_wait:g} s. See what it does before it wraps "
                "its optimiser, or raise max_wait."
            )
        time.sleep(0.01)
    address: str = store.get(_ADDRESS).decode()
    if address.startswith(_FAILED):
        store.add(_HEARD, 1)
        raise InputError(address.removeprefix(_FAILED))
    return address
