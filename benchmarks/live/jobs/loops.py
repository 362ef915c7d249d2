"""The same training loop for plain DistributedDataParallel, for torchft, and with `tailcut.Optimizer`."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch._C._distributed_c10d import Store, TCPStore
from torch.distributed.rendezvous import rendezvous

import tailcut
from benchmarks.live.jobs.phases import Phases
from benchmarks.live.jobs.trouble import Trouble

PIECES = 20
"""Micro-batches of a mini-batch, for loops that look up between them."""
LIMIT = 60.0
"""Seconds after which a run that stands still is given up."""


@dataclass(frozen=True, slots=True)
class Work:
    """The training that a job carries out."""

    net: nn.Module
    optimiser: torch.optim.Optimizer
    mode: str
    updates: int
    trouble: Trouble
    journal: Path | None
    phases: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a job: seconds, used gradients of this worker, and seconds of the parts of its steps."""

    seconds: float
    accepted: int
    phases: dict[str, float] = field(default_factory=dict)


def backward(net: nn.Module) -> None:
    """Run one small forward and backward pass."""
    nn.functional.cross_entropy(net(torch.randn(8, 64)), torch.randint(10, (8,))).backward()


def with_ddp(work: Work) -> Done:
    """Train with DDP, as most scripts do."""
    dist.init_process_group("gloo")
    wrapped = nn.parallel.DistributedDataParallel(work.net)
    began = time.monotonic()
    for _ in range(work.updates):
        work.optimiser.zero_grad()
        work.trouble.work(work.trouble.seconds)
        backward(wrapped)
        work.optimiser.step()
    seconds = time.monotonic() - began
    # Wait for all workers: one that left earlier would break the others' connections.
    dist.barrier()
    # DDP's wrapper must not be the last to hold the group: torch joins the group's threads under Python's lock then,
    # which one of them may be waiting for.
    del wrapped
    gc.collect()
    dist.destroy_process_group()
    return Done(seconds, work.updates)


def with_tailcut(work: Work) -> Done:
    """Train with `tailcut.Optimizer`."""
    policy, _, stops = work.mode.partition("+")
    opt = tailcut.Optimizer(
        work.optimiser,
        work.net,
        policy,
        total=work.updates,
        late="abandon" if stops else "finish",
        max_wait=LIMIT,
        journal=work.journal,
    )
    phases = Phases(opt).seconds if work.phases else {}
    accepted, began, ended = 0, time.monotonic(), 0.0
    for _ in opt.rounds(range(1000 * work.updates)):
        opt.zero_grad()
        seconds = work.trouble.seconds
        if stops:
            for _ in opt.until_closed(range(PIECES)):
                work.trouble.work(seconds / PIECES)
        else:
            work.trouble.work(seconds)
        backward(work.net)
        outcome = opt.step()
        accepted += outcome.accepted
        # As in the other loops, the time ends at the last update, not when all workers have left.
        ended = time.monotonic() if outcome.accepted else ended
    return Done(ended - began, accepted, dict(phases))


def with_torchft(work: Work) -> Done:
    """Train with torchft: each worker is a replica of its own, so that it could fail alone."""
    # Installed for this benchmark alone.
    from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo  # type: ignore[import-not-found]
    from torchft.coordination import LighthouseServer  # type: ignore[import-not-found]

    store, worker, workers = next(iter(rendezvous("env://")))
    lighthouse = LighthouseServer("127.0.0.1:0", workers, join_timeout_ms=10_000) if worker == 0 else None
    if lighthouse is not None:
        store.set("lighthouse", lighthouse.address())
    own = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    manager = Manager(
        ProcessGroupGloo(timeout=timedelta(seconds=LIMIT)),
        lambda state: None,
        lambda: {},
        min_replica_size=workers,
        rank=0,
        world_size=1,
        store_addr="127.0.0.1",
        store_port=own.port,
        hostname="127.0.0.1",
        lighthouse_addr=store.get("lighthouse").decode(),
        replica_id=str(worker),
        init_sync=False,
    )
    wrapped, optimiser = DistributedDataParallel(manager, work.net), Optimizer(manager, work.optimiser)
    began, done = 0.0, 0
    while manager.current_step() < work.updates:
        # Its first step finds the others and connects to them.
        began = began or (time.monotonic() if manager.current_step() == 1 else 0.0)
        optimiser.zero_grad()
        work.trouble.work(work.trouble.seconds)
        backward(wrapped)
        before = manager.current_step()
        optimiser.step()
        done += bool(began) and manager.current_step() > before
    seconds = time.monotonic() - began
    _part(store, worker, workers)
    manager.shutdown(wait=False)
    return Done(seconds, done)


def _part(store: Store, worker: int, workers: int) -> None:
    """Wait until all workers are done; worker 0, which hosts the store, waits until all have left."""
    for word, waits in (("done", True), ("left", worker == 0)):
        store.set(f"{word} {worker}", "")
        if waits:
            store.wait([f"{word} {each}" for each in range(workers)])


LOOPS: dict[str, Callable[[Work], Done]] = {"ddp": with_ddp, "torchft": with_torchft}
