"""Cells as of a notebook, in one process, which are interrupted and run again; it prints what came of each."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from tailcut.testing.chaos.processes import children

IMPORT = """
import torch, tailcut
net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
inner = torch.optim.SGD(net.parameters(), lr=0.1)
"""
WRAP = "opt = tailcut.Optimizer(inner, net, max_wait=100.0)"
LOOP = """
for epoch, batches in opt.epochs([torch.ones(4, 3)] * 3, epochs):
    for batch in batches:
        opt.zero_grad()
        net(batch).square().mean().backward()
        opt.step()
    if opt.version == 30:
        print("training", flush=True)
"""
NOTEBOOK: dict[str, Any] = {}


def run(*cells: str) -> str:
    """Run cells as a notebook does; return the error that ended one, which the notebook keeps."""
    for cell in cells:
        try:
            exec(cell, NOTEBOOK)
        except BaseException as error:
            sys.last_value, sys.last_traceback = error, error.__traceback__
            return f"{type(error).__name__}: {error}".removesuffix(": ")
    return ""


if __name__ == "__main__":
    told: dict[str, object] = {}
    NOTEBOOK["epochs"] = 10_000_000
    run(IMPORT)
    counts = []
    for _ in range(3):
        run(WRAP)
        counts.append(len(children(os.getpid())))
    told["wrapped again"] = counts
    told["interrupted"] = run(LOOP)
    told["after it"] = len(children(os.getpid()))
    told["the loop alone"] = run(LOOP)
    NOTEBOOK["epochs"] = 2
    told["both cells"] = run(WRAP, LOOP)
    told["version"] = NOTEBOOK["opt"].version
    told["left behind"] = len(children(os.getpid()))
    print(json.dumps(told))
