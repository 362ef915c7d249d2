"""One worker, under `tailcut.Optimizer` or torchft; the last one kills itself. It notes when each update was made.

tailcut launch -n 8 job.py tailcut|torchft FOLDER
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import torch
from torch import nn
from torch._C._distributed_c10d import TCPStore
from torch.distributed.rendezvous import rendezvous

DIES_AT, TOTAL, WORK = 40, 160, 0.05
"""The update before which the last worker dies, the last update, and the seconds of work for each."""
LIMIT = 60.0

Note = Callable[[bool], None]
"""Is told whether a step made an update."""


def begin(step: int) -> None:
    """Sleep for the work of one step; the last worker kills itself at step `DIES_AT`."""
    if step == DIES_AT and int(os.environ["RANK"]) == int(os.environ["WORLD_SIZE"]) - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(WORK)


def backward(net: nn.Module) -> None:
    """Run one small forward and backward pass."""
    nn.functional.cross_entropy(net(torch.randn(8, 64)), torch.randint(10, (8,))).backward()


def with_tailcut(net: nn.Module, inner: torch.optim.Optimizer, note: Note) -> None:
    """Train with tailcut until all updates are made."""
    import tailcut

    opt = tailcut.Optimizer(inner, net, "wait-all", total=TOTAL, max_wait=LIMIT)
    for _ in opt.rounds(range(100 * TOTAL)):
        opt.zero_grad()
        begin(opt.version)
        backward(net)
        note(opt.step().accepted)


def with_torchft(net: nn.Module, inner: torch.optim.Optimizer, note: Note) -> None:
    """Train with torchft; every worker is a replica of its own."""
    from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo  # type: ignore[import-not-found]
    from torchft.coordination import LighthouseServer  # type: ignore[import-not-found]

    store, worker, workers = next(iter(rendezvous("env://")))
    lighthouse = LighthouseServer("127.0.0.1:0", workers - 1, join_timeout_ms=10_000) if worker == 0 else None
    if lighthouse is not None:
        store.set("lighthouse", lighthouse.address())
    own = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    manager = Manager(
        ProcessGroupGloo(timeout=timedelta(seconds=LIMIT)),
        lambda state: None,
        lambda: {},
        min_replica_size=workers - 1,
        rank=0,
        world_size=1,
        store_addr="127.0.0.1",
        store_port=own.port,
        hostname="127.0.0.1",
        lighthouse_addr=store.get("lighthouse").decode(),
        replica_id=str(worker),
        init_sync=False,
    )
    wrapped, optimiser = DistributedDataParallel(manager, net), Optimizer(manager, inner)
    while manager.current_step() < TOTAL:
        before = manager.current_step()
        optimiser.zero_grad()
        begin(before)
        backward(wrapped)
        optimiser.step()
        note(manager.current_step() > before)
    store.set(f"done {worker}", "")
    if worker == 0:
        store.wait([f"done {each}" for each in range(workers - 1)])
    manager.shutdown(wait=False)


def main() -> None:
    """Train."""
    mode, out, worker = sys.argv[1], Path(sys.argv[2]), os.environ["RANK"]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 13_000), nn.ReLU(), nn.Linear(13_000, 10))
    inner = torch.optim.SGD(net.parameters(), lr=0.01)
    with (out / f"{worker}.jsonl").open("a", buffering=1) as lines:

        def note(made: bool) -> None:
            lines.write(json.dumps([time.monotonic(), made]) + "\n")

        (with_torchft if mode == "torchft" else with_tailcut)(net, inner, note)


if __name__ == "__main__":
    main()
