"""A run in which worker 1 is killed and started again: it writes what it found when it came back.

The second argument, if there is one: how many workers the run waits for.
"""

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

DIES_AT, TOTAL = 5, 160
"""The version at which it is killed, and the last one."""


def pause(version: int) -> float:
    """Seconds between two versions until it is back: on a busy machine that takes long."""
    return 0.05 if version < 40 else 1.0


def schedule(version: int) -> float:
    """Return the factor of the learning rates."""
    return 1.0 / (1.0 + 0.1 * version)


def numbers(net: nn.Module) -> list[float]:
    """All that it holds."""
    return [number for each in net.state_dict().values() for number in each.reshape(-1).tolist()]


if __name__ == "__main__":
    out, worker = Path(sys.argv[1]), int(os.environ["RANK"])
    least = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    before = out / "died"
    back = worker == 1 and before.exists()
    # It comes back with other numbers, which must not matter.
    torch.manual_seed(7 if back else 0)
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    inner = torch.optim.Adam(net.parameters(), lr=0.1)
    slower = torch.optim.lr_scheduler.LambdaLR(inner, schedule)
    opt = tailcut.Optimizer(
        inner, net, policy="wait-all", scheduler=slower, min_workers=least, max_wait=100.0
    )
    if back:
        (out / "back").write_text(str(opt.version))
    lines = (out / f"{worker}.jsonl").open("a")
    for _ in opt.rounds(range(TOTAL), total=TOTAL):
        if worker == 1 and not back and opt.version == DIES_AT:
            before.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.0 if (out / "back").exists() else pause(opt.version))
        opt.zero_grad()
        generator = torch.Generator().manual_seed(100 * opt.version + opt.worker)
        net(torch.randn(4, 4, generator=generator)).square().mean().backward()
        done = opt.step()
        told = [done.version, done.members, inner.param_groups[0]["lr"], numbers(net)]
        print(json.dumps(told), file=lines, flush=True)
    lines.close()
