"""A run in which workers are killed one after the other, each in another phase; survivors write what they saw."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

import tailcut
from tailcut.engines.live.data.reducing import ReduceError
from tailcut.engines.live.worker import updating

DIE = {5: ("computing", 5), 4: ("reducing", 10), 3: ("applying", 15), 2: ("reducing", 25)}
"""Workers that are killed: the phase and the version of each death."""
PRETENDS, UNDONE = 1, 20
"""The worker that reports a completed reduction as failed, and the version."""
TOTAL = 30

reduces, applies = updating.reduce, updating.Replica.apply
worker = int(os.environ.get("RANK", "-1"))


def die_at(phase: str, version: int) -> None:
    if DIE.get(worker) == (phase, version):
        os.kill(os.getpid(), signal.SIGKILL)


def reduce(*given: Any, **named: Any) -> None:
    version = given[5]
    die_at("reducing", version)
    reduces(*given, **named)
    if (worker, version) == (PRETENDS, UNDONE) and reduce.__dict__.setdefault("once", True):
        reduce.__dict__["once"] = False
        raise ReduceError("It did not end.")


def apply(replica: updating.Replica, *given: Any) -> None:
    die_at("applying", replica.version)
    applies(replica, *given)


if __name__ == "__main__":
    updating.reduce, updating.Replica.apply = reduce, apply  # type: ignore[assignment,method-assign]
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    made: list[list[int]] = []
    inner = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    opt = tailcut.Optimizer(inner, net, policy="wait-all", max_wait=100.0, journal=Path(sys.argv[1]) / "run")
    for _ in opt.rounds(range(1000), total=TOTAL):
        die_at("computing", opt.version)
        opt.zero_grad()
        generator = torch.Generator().manual_seed(100 * opt.version + opt.worker)
        net(torch.randn(4, 4, generator=generator)).square().mean().backward()
        done = opt.step()
        made.append([done.version, *done.members])
    told = {"numbers": net.weight.reshape(-1).tolist(), "version": opt.version, "made": made}
    Path(sys.argv[1], f"{worker}.json").write_text(json.dumps(told))
