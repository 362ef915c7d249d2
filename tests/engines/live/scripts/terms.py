"""A run whose controller is killed again and again, and worker 0 once; workers write what they saw."""

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

KILLS = (8, 20, 32)
"""Versions at which worker 1 kills the controller."""
DIES_AT, TOTAL = 26, 160
"""The version at which worker 0 dies, once; and the last one."""


def pause(version: int) -> float:
    """Seconds between two versions until worker 0 is back: on a busy machine that takes long."""
    return 0.02 if version < 60 else 1.0


if __name__ == "__main__":
    out, worker = Path(sys.argv[1]), int(os.environ["RANK"])
    died = out / "died"
    back = worker == 0 and died.exists()
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    inner = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    opt = tailcut.Optimizer(inner, net, policy="backup:c=2", max_wait=100.0, journal=out / "run")
    if back:
        (out / "back").write_text(str(opt.version))
    lines = (out / f"{worker}.jsonl").open("a")
    kills = list(KILLS)
    for _ in opt.rounds(range(100_000), total=TOTAL):
        if worker == 0 and not back and opt.version >= DIES_AT:
            died.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        if worker == 1 and kills and opt.version >= kills[0]:
            del kills[0]
            controller = controller_of(os.getppid())
            assert controller is not None
            os.kill(controller, signal.SIGKILL)
        time.sleep(0.0 if (out / "back").exists() else pause(opt.version))
        opt.zero_grad()
        generator = torch.Generator().manual_seed(100 * opt.version + opt.worker)
        net(torch.randn(4, 4, generator=generator)).square().mean().backward()
        done = opt.step()
        told = [done.version, done.members, net.weight.reshape(-1).tolist()]
        print(json.dumps(told), file=lines, flush=True)
    lines.close()
