"""A run that is killed as a whole at some version, once, if it is told to; it goes on from its newest checkpoint.

With a third argument each worker has a folder of its own, and so only the first one has checkpoints.
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

TOTAL, EVERY, SLOWER = 40, 6, 5


if __name__ == "__main__":
    out, dies_at = Path(sys.argv[1]), int(sys.argv[2])
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    inner = torch.optim.AdamW(net.parameters(), lr=0.05)
    slower = torch.optim.lr_scheduler.StepLR(inner, SLOWER, 0.5)
    folder = f"kept by {os.environ['RANK']}" if sys.argv[3:] and os.environ["RANK"] != "0" else "kept"
    kept = {"checkpoints": out / folder, "checkpoint_every": EVERY, "keep": 2}
    opt = tailcut.Optimizer(
        inner, net, policy="wait-all", scheduler=slower, total=TOTAL, max_wait=100.0, **kept
    )
    first, died = opt.version, out / f"died.{opt.worker}"
    for _ in opt.rounds(range(1000)):
        if opt.version == dies_at and not died.exists():
            # The checkpoint is published in the background, once all workers are known to have this version.
            while not list((out / "kept").glob("v*.safetensors")):
                time.sleep(0.01)
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        opt.zero_grad()
        generator = torch.Generator().manual_seed(100 * opt.version + opt.worker)
        net(torch.randn(4, 4, generator=generator)).square().mean().backward()
        opt.step()
    numbers = [number for each in net.state_dict().values() for number in each.reshape(-1).tolist()]
    told = {"first": first, "version": opt.version, "position": opt.position, "numbers": numbers}
    (out / f"{opt.worker}.json").write_text(json.dumps(told))
