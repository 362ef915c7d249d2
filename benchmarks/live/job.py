"""One worker of a live benchmark: a net of a million parameters, work that is mostly sleep, stragglers by chance."""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

import tailcut

PIECES = 20
"""Micro-batches of a mini-batch."""


def main() -> None:
    """Train for so many updates and write how long it took."""
    told = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, told.hidden), nn.ReLU(), nn.Linear(told.hidden, 10))
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
    train = with_ddp if told.mode == "ddp" else with_tailcut
    seconds, accepted, worker = train(net, optimiser, told)
    (told.out / f"{worker}.json").write_text(json.dumps({"seconds": seconds, "accepted": accepted}))


def arguments() -> argparse.Namespace:
    """What the parent says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("mode")
    parser.add_argument("out", type=Path)
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--hidden", type=int, default=13_000)
    parser.add_argument("--unit", type=float, default=0.1)
    parser.add_argument("--chance", type=float, default=0.1)
    parser.add_argument("--times", type=float, default=9.0)
    return parser.parse_args()


def seconds_of(told: argparse.Namespace, draws: random.Random) -> float:
    """Of a mini-batch: now and then many times as many."""
    return float(told.unit * (told.times if draws.random() < told.chance else 1.0))


def backward(net: nn.Module) -> None:
    """A little arithmetic."""
    nn.functional.cross_entropy(net(torch.randn(8, 64)), torch.randint(10, (8,))).backward()


def with_ddp(
    net: nn.Module, optimiser: torch.optim.Optimizer, told: argparse.Namespace
) -> tuple[float, int, int]:
    """As everybody does it."""
    dist.init_process_group("gloo")
    worker, wrapped = dist.get_rank(), nn.parallel.DistributedDataParallel(net)
    draws, began = random.Random(worker), time.monotonic()
    for _ in range(told.updates):
        optimiser.zero_grad()
        time.sleep(seconds_of(told, draws))
        backward(wrapped)
        optimiser.step()
    seconds = time.monotonic() - began
    dist.barrier()
    dist.destroy_process_group()
    return seconds, told.updates, worker


def with_tailcut(
    net: nn.Module, optimiser: torch.optim.Optimizer, told: argparse.Namespace
) -> tuple[float, int, int]:
    """The same with `tailcut.Optimizer`; a policy with +stop behind it looks up between micro-batches."""
    policy, _, stops = told.mode.partition("+")
    late = "abandon" if stops else "finish"
    opt = tailcut.Optimizer(optimiser, net, policy, total=told.updates, late=late, max_wait=60.0)
    draws, accepted, began = random.Random(opt.worker), 0, time.monotonic()
    for _ in opt.rounds(range(1000 * told.updates)):
        opt.zero_grad()
        piece = seconds_of(told, draws) / PIECES
        for _ in opt.until_closed(range(PIECES)) if stops else range(PIECES):
            time.sleep(piece)
        backward(net)
        accepted += opt.step().accepted
    return time.monotonic() - began, accepted, opt.worker


if __name__ == "__main__":
    main()
