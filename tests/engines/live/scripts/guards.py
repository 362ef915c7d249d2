"""Three workers whose scripts cannot work, one after the other; the sentences they get go to a file."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

import tailcut
from tailcut.errors import TailcutError

FOLDER, RANK = Path(sys.argv[1]), int(os.environ["RANK"])
AT_MOST = timedelta(seconds=60)


def wrapped(**how: Any) -> tuple[tailcut.Optimizer, nn.Module]:
    """A net with numbers of this worker's own, and random numbers that are not saved with it."""
    torch.manual_seed(1337 + RANK)
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    net.register_buffer("phase", torch.randn(4), persistent=False)
    inner = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    return tailcut.Optimizer(inner, net, **({"policy": "wait-all", "max_wait": 60.0} | how)), net


def steps(opt: tailcut.Optimizer, net: nn.Module, before: Callable[[int], None] = lambda turn: None) -> None:
    for turn, _ in enumerate(opt.rounds(range(1000))):
        opt.zero_grad()
        net(torch.full((1, 2), 0.1 * (RANK + 1))).sum().backward()
        before(turn)
        opt.step()


def seeds() -> str:
    """The numbers that workers end with."""
    opt, net = wrapped(total=5)
    steps(opt, net)
    return str([each.tolist() for each in [*net.parameters(), net.phase]])


def compared() -> str:
    """Other numbers are refused where that is asked for."""
    return sentence(lambda: wrapped(initial="compare"))


def by_hand() -> str:
    """A rate that follows the worker's own count of steps, which worker 1 takes one more of."""
    opt, net = wrapped(total=20, policy="wait-all")

    def set_rate(turn: int) -> None:
        opt.param_groups[0]["lr"] = 0.1 / (1 + turn // 4 + (RANK == 1 and turn > 8))

    return sentence(lambda: steps(opt, net, set_rate))


def in_ddp() -> str:
    """A framework wraps the net when the optimizer is made already."""
    opt, net = wrapped(total=5)
    ddp = nn.parallel.DistributedDataParallel(net)
    return sentence(lambda: steps(opt, ddp))


def waits() -> str:
    """Worker 1 is in a collective of its own, and the others wait for it in step(), until they are told."""
    opt, net = wrapped(total=5)

    def collective(turn: int) -> None:
        if RANK == 1 and turn == 2:
            Thread(target=leave_when_told, daemon=True).start()
            dist.barrier()

    return sentence(lambda: steps(opt, net, collective))


def leave_when_told() -> None:
    """Worker 0's child is the controller, which tells through it."""
    until = time.monotonic() + AT_MOST.seconds
    while "Workers wait for each other" not in (FOLDER / "0.err").read_text() and time.monotonic() < until:
        time.sleep(0.1)
    os._exit(0)


def sentence(what: Callable[[], object]) -> str:
    try:
        what()
    except TailcutError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=AT_MOST)
    said = {}
    for each in (seeds, compared, by_hand, in_ddp, waits):
        said[each.__name__] = each()
        (FOLDER / f"{RANK}.json").write_text(json.dumps(said))
    os._exit(0)
