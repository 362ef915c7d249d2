"""How a worker finds the others: its place, a store, and a controller, which the launcher starts, or else worker 0."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from torch._C._distributed_c10d import PrefixStore, Store

from tailcut.engines.live.hosting import FAILED, answer, host_folder
from tailcut.engines.live.hosting import ask as ask_host
from tailcut.engines.live.worker.controller_process import ControllerProcess
from tailcut.engines.live.worker.store import find_store, own_address
from tailcut.errors import InputError
from tailcut.types import Seconds

_ADDRESS, _CLAIMS, _HEARD, _BEGUN = "controller", "claims", "heard", "begun"
PATIENCE: Seconds = 10.0
"""For the others to hear why there is no controller, before the store goes with this process."""
START_PATIENCE: Seconds = 120.0
"""For the controller's process to listen: it imports a lot first, on a machine that may be busy."""
LEARNT = "policy.safetensors"
"""File, among the checkpoints, with what the policy has learnt."""
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
        checkpoints: folder in which it keeps what the policy has learnt; None for none.
        min_workers: with fewer it waits.
    """

    policy: str
    rate: str
    late: str
    total: int | None
    max_wait: Seconds
    journal: str | None = None
    tensorboard: str | None = None
    checkpoints: str | None = None
    min_workers: int = field(default=1, kw_only=True)


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

    @property
    def is_under_way(self) -> bool:
        """Whether the run had begun before this process came to it."""
        return self.store.check([_BEGUN])

    def note_begun(self) -> None:
        """The run has begun: who comes from now on joins it."""
        self.store.set(_BEGUN, "1")

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
    run = next(_RUNS)
    mine = PrefixStore(f"tailcut/{run}", store)
    node, host = int(os.environ.get("GROUP_RANK", "0")), own_address(workers)
    options, folder, child = _options(ask, workers, host), host_folder(), None
    if folder is not None:
        address = _hosted(folder, run, options if worker == 0 else None, ask.max_wait)
    elif worker == 0:
        child = _controller(ask, mine, workers, options)
        address = child.address
    else:
        address = _heard(mine, ask.max_wait)
    return Started(ask, worker, workers, node, host, os.getpid(), mine, address, child)


def _options(ask: Start, workers: int, host: str) -> dict[str, object]:
    """Of the controller."""
    return {
        "workers": workers,
        "policy": ask.policy,
        "rate": ask.rate,
        "late": ask.late,
        "max-wait": ask.max_wait,
        "address": f"tcp://{host}:0",
        "total": ask.total,
        "min-workers": ask.min_workers,
        "journal": _absolute(ask.journal),
        "tensorboard": _absolute(ask.tensorboard),
        "saved": _absolute(ask.checkpoints, LEARNT),
    }


def _absolute(folder: str | None, file: str = "") -> str | None:
    """A path that means the same to a process elsewhere on this machine."""
    return None if folder is None else str(Path(folder, file).absolute())


def _hosted(folder: Path, run: int, options: dict[str, object] | None, max_wait: Seconds) -> str:
    """The address of the controller that the launcher starts; worker 0, whose options these are, asks for it."""
    if options is not None:
        ask_host(folder, run, options)
    return _awaited(lambda: answer(folder, run), max_wait)


def _controller(ask: Start, store: Store, workers: int, options: dict[str, object]) -> ControllerProcess:
    """Start the controller and tell the others, whatever comes of it."""
    if store.add(_CLAIMS, 1) > 1:
        raise InputError(
            "Two workers have RANK 0, and each would start a controller. Give each its own RANK."
        )
    try:
        child = _listening(ControllerProcess(options))
    except InputError as problem:
        store.set(_ADDRESS, f"{FAILED}{problem}")
        until = time.monotonic() + min(PATIENCE, ask.max_wait)
        while store.add(_HEARD, 0) < workers - 1 and time.monotonic() < until:
            time.sleep(0.01)
        raise
    store.set(_ADDRESS, child.address)
    return child


def _listening(child: ControllerProcess) -> ControllerProcess:
    if not child.wait_until_listening(START_PATIENCE):
        child.kill()
        raise InputError(
            f"The controller's process has not begun within {START_PATIENCE:g} s. See whether something stops it, and "
            "start the run again."
        )
    return child


def _heard(store: Store, max_wait: Seconds) -> str:
    """What worker 0 says of the controller."""

    def told() -> str | None:
        return store.get(_ADDRESS).decode() if store.check([_ADDRESS]) else None

    try:
        return _awaited(told, max_wait)
    except NoControllerError:
        store.add(_HEARD, 1)
        raise


class NoControllerError(InputError):
    """Whoever should have started the controller says why there is none."""


def _awaited(told: Callable[[], str | None], max_wait: Seconds) -> str:
    """The address, as soon as it is told."""
    until = time.monotonic() + max_wait
    while (address := told()) is None:
        if time.monotonic() > until:
            raise InputError(
                f"Worker 0 has not started the controller within {max_wait:g} s. See what it does before it wraps "
                "its optimiser, or raise max_wait."
            )
        time.sleep(0.01)
    if address.startswith(FAILED):
        raise NoControllerError(address.removeprefix(FAILED))
    return address
