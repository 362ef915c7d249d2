"""A run whose controller is killed when worker 0 has left and worker 1 lacks the last version; what they end with."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

import tailcut
from tailcut.testing.chaos.processes import controller_of

TOTAL = 6


def wait_for(is_so: Callable[[], object]) -> None:
    """Wait until something is so; what it is for shows in the end if it never is."""
    ends = time.monotonic() + 200.0
    while not is_so() and time.monotonic() < ends:
        time.sleep(0.01)


if __name__ == "__main__":
    out, worker = Path(sys.argv[1]), int(os.environ["RANK"])
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    inner = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    opt = tailcut.Optimizer(
        inner, net, policy="backup:c=1", total=TOTAL, max_wait=100.0, checkpoints=out / "kept"
    )
    has_killed = False
    for _ in opt.rounds(range(100_000)):
        if worker == 0:
            # Without this it could make all versions before worker 1 is here.
            wait_for((out / "entered").exists)
        if worker == 1 and not has_killed:
            # Meanwhile worker 0 makes all versions alone, and leaves.
            (out / "entered").write_text("")
            wait_for((out / "last").exists)
            controller = controller_of(os.getppid())
            assert controller is not None
            os.kill(controller, signal.SIGKILL)
            # The first one may have said that the run is over: this worker could end before the second is there.
            wait_for(lambda first=controller: controller_of(os.getppid()) not in (None, first))
            has_killed = True
        opt.zero_grad()
        generator = torch.Generator().manual_seed(100 * opt.version + opt.worker)
        net(torch.randn(4, 4, generator=generator)).square().mean().backward()
        done = opt.step()
        if worker == 0 and done.version == TOTAL:
            (out / "last").write_text("")
    (out / f"{worker}.json").write_text(json.dumps([opt.version, net.weight.reshape(-1).tolist()]))
