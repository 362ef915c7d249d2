"""The store in which workers meet: the launcher's, the user's process group's, or that of MASTER_ADDR."""

from __future__ import annotations

import os
import socket
import time
from datetime import timedelta
from functools import cache

import torch.distributed as dist
from torch._C._distributed_c10d import HashStore, PrefixStore, Store, TCPStore
from torch.distributed.rendezvous import rendezvous

from tailcut.engines.live.hosting import STORE
from tailcut.engines.live.worker.keeping import say
from tailcut.errors import InputError
from tailcut.types import Seconds

NAMES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
PLACES = ("LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "TORCHELASTIC_RUN_ID")
"""Environment variables that launchers set too: one of these without all of `NAMES` is an error."""
COUNTS = ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
"""Environment variables in which srun and mpirun say how many processes they have started."""
AGENT = "TORCHELASTIC_USE_AGENT_STORE"
"""Environment variable that torchrun sets where its own process holds the store."""
LIVES = "TORCHELASTIC_RESTART_COUNT"
"""Environment variable in which torchrun says how often it has started all workers again."""
PAUSE: Seconds = 0.05


def find_store(max_wait: Seconds) -> tuple[Store, int, int]:
    """Return the store, this worker's place, and the number of workers.

    Raises:
        InputError: the environment does not say where this worker belongs, or no store answers.
    """
    if os.environ.get(STORE):
        return _hosted(max_wait)
    if dist.is_initialized():
        # The only way to the store that the user's own process group was made with.
        store = dist.distributed_c10d._get_default_store()
        return store, dist.get_rank(), dist.get_world_size()
    missing = [name for name in NAMES if not os.environ.get(name)]
    if missing and is_alone():
        _say_alone()
        return HashStore(), 0, 1
    if missing:
        raise InputError(
            f"{', '.join(missing)} is not set, so this worker does not know its place. Start the script with "
            "`tailcut launch -n 8 script.py` or with torchrun."
        )
    return _rendezvous(max_wait)


def is_alone() -> bool:
    """Return whether no launcher has started this process, so that it is the only worker: a notebook, for example."""
    is_placed = dist.is_initialized() or any(os.environ.get(name) for name in (STORE, *NAMES, *PLACES))
    return not is_placed and all(os.environ.get(name, "1") in ("", "1") for name in COUNTS)


@cache
def _say_alone() -> None:
    say(
        "No launcher has started this process, so it trains by itself, as the only worker. For several start it with "
        "`tailcut launch -n 8 script.py` or with torchrun."
    )


def own_address(workers: int) -> str:
    """Return this machine's address for others; the loopback address where all are on one machine."""
    if is_alone():
        return "127.0.0.1"
    local = int(os.environ.get("LOCAL_WORLD_SIZE", "0"))
    if local == workers or os.environ.get("MASTER_ADDR") in ("127.0.0.1", "localhost"):
        return "127.0.0.1"
    return socket.gethostbyname(socket.gethostname())


@cache
def _hosted(max_wait: Seconds) -> tuple[Store, int, int]:
    """Return the launcher's store, which outlives all workers, this worker's place, and their number."""
    host, _, port = os.environ[STORE].rpartition(":")
    worker, workers = _place()
    _await_store(host, int(port), max_wait)
    store = TCPStore(host, int(port), is_master=False, timeout=timedelta(seconds=max_wait))
    return store, worker, workers


def _place() -> tuple[int, int]:
    """Return this worker's place, and the number of workers."""
    worker, workers = _whole("RANK"), _whole("WORLD_SIZE")
    if not 0 <= worker < workers:
        raise InputError(f"RANK must be from 0 to WORLD_SIZE - 1 = {workers - 1}, but is {worker}.")
    return worker, workers


@cache
def _rendezvous(max_wait: Seconds) -> tuple[Store, int, int]:
    """Meet at MASTER_ADDR, once in a process: worker 0 holds the store there, unless torchrun does."""
    (worker, workers), port = _place(), _whole("MASTER_PORT")
    host = os.environ["MASTER_ADDR"]
    if worker == 0 and os.environ.get(AGENT) != str(True):
        _refuse_elsewhere(host)
    else:
        _await_store(host, port, max_wait)
    try:
        store, _, _ = next(iter(rendezvous("env://", timeout=timedelta(seconds=max_wait))))
    except (RuntimeError, ValueError) as problem:
        raise InputError(_no_store(host, port, str(problem).splitlines()[0])) from None
    return _of_this_life(store), worker, workers


def _of_this_life(store: Store) -> Store:
    """Return the store without entries from before torchrun restarted all workers, which it outlives."""
    lives = os.environ.get(LIVES) if os.environ.get(AGENT) == str(True) else None
    return store if lives is None else PrefixStore(f"restart {lives}", store)


def _whole(name: str) -> int:
    text = os.environ[name]
    if not text.isdecimal():
        raise InputError(
            f"{name} must be a whole number, but is {text!r}. Start the script with torchrun, say."
        )
    return int(text)


def _refuse_elsewhere(host: str) -> None:
    """Refuse a MASTER_ADDR that is not this machine: worker 0 holds the store, and the others look there."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as one:
            one.bind((host, 0))
    except OSError as problem:
        raise InputError(
            f"MASTER_ADDR is {host!r}, but that is not the machine that RANK 0 runs on, {socket.gethostname()!r} "
            f"({problem.strerror}). The store is where RANK 0 is: set MASTER_ADDR to that machine, everywhere."
        ) from None


def _await_store(host: str, port: int, max_wait: Seconds) -> None:
    """Wait until the store listens. Torch would wait too, but print long warnings meanwhile."""
    until = time.monotonic() + max_wait
    while True:
        left = until - time.monotonic()
        try:
            socket.create_connection((host, port), timeout=max(left, PAUSE)).close()
            return
        except OSError as problem:
            if left <= PAUSE:
                raise InputError(
                    f"No store answers at {host}:{port} after {max_wait:g} s ({problem.strerror or problem}). "
                    "See whether RANK 0 was started, on the machine that MASTER_ADDR names."
                ) from None
        time.sleep(PAUSE)


def _no_store(host: str, port: int, problem: str) -> str:
    if "EADDRINUSE" in problem:
        return (
            f"MASTER_PORT {port} is in use on this machine, by another run or by a second worker with RANK 0. "
            "Give every run its own port, and every worker its own RANK."
        )
    return (
        f"Workers did not find each other at {host}:{port}: {problem.rstrip('.')}. "
        "Start as many as WORLD_SIZE says, within max_wait."
    )
