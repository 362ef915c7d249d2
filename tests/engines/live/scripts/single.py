"""One process trains several nets, one after the other, each in another kind of loop; it prints what came of it.

single.py SEED [KIND …]
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

import tailcut
from tailcut.errors import TailcutError
from tailcut.testing.chaos.processes import children

EPOCHS, UPDATES = 2, 5
RATES = [0.1] * EPOCHS * UPDATES
"""Learning rates by version; the version after the last update has none."""


class Stream:
    """Data without a length, which can be begun anew."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter([torch.full((4, 3), number) for number in (1.0, 2.0, 3.0)])


def whole(opt: Any, data: Any, step: Callable[[Any], None]) -> object:
    """Two epochs, to their end."""
    told = []
    for epoch, batches in opt.epochs(data, EPOCHS):
        told.append([epoch, sum(step(batch) is None for batch in batches)])
    return told


def stopped(opt: Any, data: Any, step: Callable[[Any], None]) -> object:
    """The outer loop is left after one epoch; dropped batches would come again."""
    for _, batches in opt.epochs(data, EPOCHS, retake=True):
        for batch in batches:
            step(batch)
        if opt.agree({"stop": True})["stop"] and opt.agree(None) is None:
            break
    return opt.over


def broken(opt: Any, data: Any, step: Callable[[Any], None]) -> object:
    """The inner loop is left, and the outer one is not."""
    for _, batches in opt.epochs(data, EPOCHS):
        for batch in batches:
            step(batch)
            if opt.version == 2:
                break
    return None


def accumulated(opt: Any, data: Any, step: Callable[[Any], None]) -> object:
    """Two batches for each update, of data that have no length."""
    seen = []
    for _, batches in opt.epochs(Stream(), EPOCHS, updates=2):
        for batch in batches:
            seen.append(int(batch[0, 0]))
            if len(seen) % 2 == 0:
                step(batch)
    return seen


def rounds(opt: Any, data: Any, step: Callable[[Any], None]) -> object:
    """Rounds, without epochs."""
    return sum(step(batch) is None for batch in opt.rounds(data, total=6))


if __name__ == "__main__":
    torch.manual_seed(int(sys.argv[1]))
    data, told = [torch.randn(4, 3) for _ in range(UPDATES)], dict[str, object]()
    for kind in (whole, stopped, broken, accumulated, rounds):
        if kind.__name__ not in (sys.argv[2:] or [kind.__name__]):
            continue
        net = nn.Linear(3, 1)
        inner = torch.optim.SGD(net.parameters(), lr=0.1)
        opt = tailcut.Optimizer(inner, net, scheduler=RATES.__getitem__, max_wait=100.0)

        def step(batch: torch.Tensor, opt: Any = opt, net: nn.Module = net) -> None:
            opt.zero_grad()
            net(batch).square().mean().backward()
            opt.step()

        try:
            came = kind(opt, data, step)
        except TailcutError as problem:
            came = str(problem)
        told[kind.__name__] = [came, opt.version, len(children(os.getpid()))]
    print(json.dumps(told))
