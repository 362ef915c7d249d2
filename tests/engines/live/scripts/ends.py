"""A run whose controller is killed when worker 0 has left and worker 1 lacks the last version; what they end with."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import torch
from torch import nn

import tailcut
from tailcut.testing.chaos.processes import controller_of

TOTAL = 6


def wait_for(file: Path) -> None:
    """Until another worker has written it."""
    ends = time.monotonic() + 90.0
    while not file.exists() and time.monotonic() < ends:
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
            wait_for(out / "entered")
        if worker == 1 and not has_killed:
            # Meanwhile worker 0 makes all versions alone, and leaves.
            (out / "entered").write_text("")
            wait_for(out / "last")
            time.sleep(0.2)
            controller = controller_of(os.getppid())
            assert controller is not None
            os.kill(controller, signal.SIGKILL)
            has_killed = True
        opt.zero_grad()
        generator = torch.Generator().manual_seed(100 * opt.version + opt.worker)
        net(torch.randn(4, 4, generator=generator)).square().mean().backward()
        done = opt.step()
        if worker == 0 and done.version == TOTAL:
            (out / "last").write_text("")
    (out / f"{worker}.json").write_text(json.dumps([opt.version, net.weight.reshape(-1).tolist()]))
