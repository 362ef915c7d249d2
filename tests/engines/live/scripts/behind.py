"""A run in which worker 1 is late by more updates than any worker keeps; it writes the result."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import torch
from torch import nn

import tailcut

LATE_AT, FAR, TOTAL = 3, 10, 160
"""The version at which it is late, that which it waits for the others to have, and the last one."""

if __name__ == "__main__":
    out, worker = Path(sys.argv[1]), int(os.environ["RANK"])
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    inner = torch.optim.Adam(net.parameters(), lr=0.1)
    # Every worker keeps only the newest update.
    opt = tailcut.Optimizer(inner, net, policy="backup:c=2", total=TOTAL, log_bytes=0, max_wait=100.0)
    far, back = out / "far", out / "back"
    seen = []
    for _ in opt.rounds(range(TOTAL)):
        late = worker == 1 and opt.version >= LATE_AT and not back.exists()
        if opt.version >= FAR and not far.exists():
            far.touch()
        while late and not far.exists():
            time.sleep(0.01)
        # Versions come slowly until the late worker is back, and then no worker is late any more.
        # On a busy machine it takes long to come back.
        time.sleep(0.0 if back.exists() else 0.02 if opt.version < 60 else 1.0)
        opt.zero_grad()
        generator = torch.Generator().manual_seed(100 * opt.version + opt.worker)
        net(torch.randn(4, 4, generator=generator)).square().mean().backward()
        before, used = opt.version, opt.position
        done = opt.step()
        seen.append([before, done.version, done.accepted, opt.position - used])
        if late:
            back.touch()
            opt.every(1)
    numbers = [number for each in net.state_dict().values() for number in each.reshape(-1).tolist()]
    (out / f"{worker}.json").write_text(json.dumps({"seen": seen, "numbers": numbers}))
