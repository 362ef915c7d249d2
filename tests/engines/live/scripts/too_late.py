"""A run whose worker 1 is killed, and comes back when all updates are made but workers are still there."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import torch
from torch import nn

import tailcut
from tailcut.engines.live.worker.inbox import TooLateError

DIES_AT, TOTAL = 2, 4
HARM, AT_MOST = 1.0, 100.0
"""Seconds in which somebody could be ended for it, and in which it must be back."""


if __name__ == "__main__":
    out, worker = Path(sys.argv[1]), int(os.environ["RANK"])
    refused = out / "refused"
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    inner = torch.optim.SGD(net.parameters(), lr=0.1)
    try:
        opt = tailcut.Optimizer(inner, net, policy="wait-all", total=TOTAL, max_wait=100.0)
    except TooLateError as problem:
        refused.write_text(str(problem))
        raise
    for _ in opt.rounds(range(1000)):
        if worker == 1 and opt.version == DIES_AT:
            os.kill(os.getpid(), signal.SIGKILL)
        opt.zero_grad()
        net(torch.ones(2, 4)).square().mean().backward()
        opt.step()
        if opt.version == TOTAL:
            # No worker may end before, or the killed one would not be restarted at all.
            until = time.monotonic() + AT_MOST
            while not refused.exists() and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(HARM if worker == 2 else 0.0)
    (out / f"{worker}.saved").write_text(str(opt.version))
