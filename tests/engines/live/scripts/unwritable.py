"""A run whose folder for checkpoints cannot be written any more when worker 1, which was killed, comes back."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path

import torch
from torch import nn

import tailcut

DIES_AT, TOTAL = 2, 160


def pause(version: int) -> float:
    """Seconds between two versions until it is back: on a busy machine that takes long."""
    return 0.05 if version < 40 else 1.0


if __name__ == "__main__":
    out, worker = Path(sys.argv[1]), int(os.environ["RANK"])
    back, kept = out / "back", out / "kept"
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    inner = torch.optim.SGD(net.parameters(), lr=0.1)
    opt = tailcut.Optimizer(inner, net, policy="wait-all", total=TOTAL, max_wait=100.0, checkpoints=kept)
    if opt.version > 0:
        back.write_text(str(opt.version))
    for _ in opt.rounds(range(1000)):
        if worker == 1 and opt.version == DIES_AT:
            shutil.rmtree(kept)
            # Not even root can write to that.
            kept.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.0 if back.exists() else pause(opt.version))
        opt.zero_grad()
        net(torch.ones(2, 4)).square().mean().backward()
        opt.step()
    (out / f"{worker}.saved").write_text(str(opt.version))
