"""Three workers and what their scripts do wrong, one after the other; the sentences they get go to a file."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

import tailcut
from tailcut.engines.live.worker.store import find_store
from tailcut.errors import TailcutError

RANK = find_store(100.0)[1]


def wrapped(inputs: int = 2, **how: Any) -> tuple[tailcut.Optimizer, nn.Module]:
    torch.manual_seed(0)
    net = nn.Linear(inputs, 1)
    given = {"policy": "wait-all", "max_wait": 2.0} | how
    return tailcut.Optimizer(torch.optim.SGD(net.parameters(), lr=0.1), net, **given), net


def steps(opt: tailcut.Optimizer, net: nn.Module) -> None:
    for _ in opt.rounds(range(1000)):
        opt.zero_grad()
        net(torch.ones(1, 2)).sum().backward()
        opt.step()


def shapes() -> None:
    wrapped(inputs=3 if RANK == 1 else 2, max_wait=100.0)


def policy() -> None:
    wrapped(policy="wait-al", max_wait=100.0)


def never() -> None:
    opt, net = wrapped(total=3)
    if RANK == 1:
        time.sleep(2.5)
    steps(opt, net)


def drift() -> None:
    opt, net = wrapped(total=150, max_wait=100.0)
    if RANK == 2:
        with torch.no_grad():
            net.weight.add_(1.0)
    steps(opt, net)


def sentence(name: str) -> str:
    try:
        globals()[name]()
    except TailcutError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    torch.set_num_threads(1)
    said = {}
    for name in ("shapes", "policy", "never", "drift"):
        said[name] = sentence(name)
    (Path(sys.argv[1]) / f"{RANK}.json").write_text(json.dumps(said))
    # Worker 2 fails first, and the others go on; then worker 0, whose child the controller is.
    opt, net = wrapped(max_wait=100.0)
    for turn in range(1000):
        opt.zero_grad()
        net(torch.ones(1, 2)).sum().backward()
        if (RANK, turn) in ((2, 2), (0, 5)):
            raise RuntimeError(f"The script of worker {RANK} has a mistake.")
        opt.step()
