"""The start of a worker: it finds its place, a store, and a controller, from the launcher or worker 0."""

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
"""Longest wait, in seconds, for others to read why there is no controller: the store ends with worker 0."""
START_PATIENCE: Seconds = 120.0
"""Longest wait, in seconds, for the controller to listen: its imports take long on a busy machine."""
LEARNT = "policy.safetensors"
"""Name of the file, among the checkpoints, with the learnt state of the policy."""
_RUNS = itertools.count()


@final
@dataclass(frozen=True, slots=True)
class Start:
    """The settings of the controller, as the script gives them.

    Attributes:
        policy: name of the policy. rate: name of the learning-rate rule. late: `finish` or `abandon`.
        total: version at which the run ends; None for none.
        max_wait: seconds of silence after which the run is given up.
        journal: folder that the controller records the run in; None for none.
        tensorboard: folder that it writes scalars to; None for none.
        checkpoints: folder in which it keeps the learnt state of the policy; None for none.
        min_workers: with fewer workers it waits.
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
    """The place of this worker in the run, and its ways to the others.

    Attributes:
        ask: the settings of the controller.
        worker, workers: its place from 0, and the number of workers.
        node: number of its machine.
        host: address of its machine, for others.
        process: id of its process.
        store: the store in which workers find each other.
        controller: address of the controller.
        child: the controller's process, at the worker that started it; None at the others.
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
        """Return whether the run has begun: a worker that starts after that joins it."""
        return self.store.check([_BEGUN])

    def note_begun(self) -> None:
        """Record in the store that the run has begun: a worker that starts from now on joins it."""
        self.store.set(_BEGUN, "1")

    def end(self, at_once: bool = False) -> None:
        """End the controller, if this worker has started it: when all have left, or at once."""
        if self.child is not None:
            self.child.end(at_once)


def started(ask: Start) -> Started:
    """Find the store and the controller, and start the controller if that is this worker's task.

    Raises:
        InputError: the environment does not tell this worker's place, or there is no controller.
    """
    store, worker, workers = find_store(ask.max_wait)
    # A script may wrap several optimizers; all its workers do so in the same order.
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
    """Return the command-line options of the controller by name."""
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
    """Return a path that means the same to a process in another working directory; None for None."""
    return None if folder is None else str(Path(folder, file).absolute())


def _hosted(folder: Path, run: int, options: dict[str, object] | None, max_wait: Seconds) -> str:
    """Return the address of the launcher's controller, which worker 0 asks for, with `options`."""
    if options is not None:
        ask_host(folder, run, options)
    return _awaited(lambda: answer(folder, run), max_wait)


def _controller(ask: Start, store: Store, workers: int, options: dict[str, object]) -> ControllerProcess:
    """Start the controller, and tell the other workers its address or why there is none."""
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
    """Return the controller's address, as worker 0 tells it in the store."""

    def told() -> str | None:
        return store.get(_ADDRESS).decode() if store.check([_ADDRESS]) else None

    try:
        return _awaited(told, max_wait)
    except NoControllerError:
        store.add(_HEARD, 1)
        raise


class NoControllerError(InputError):
    """The controller could not be started; the message is of the process that should have done so."""


def _awaited(told: Callable[[], str | None], max_wait: Seconds) -> str:
    """Return the controller's address, as soon as it is told."""
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
