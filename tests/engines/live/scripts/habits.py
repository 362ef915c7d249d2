"""Run habits of training scripts, one after the other, in two workers; each writes its results as JSON.

Each habit that DDP has too is trained by DDP first, with the same data and the same first weights.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, RandomSampler, TensorDataset
from tqdm import tqdm

import tailcut
from tailcut.engines.live.worker.replica import digest
from tailcut.errors import TailcutError

UPDATES, EPOCHS, IN_EPOCH = 40, 3, 6
SHORT, LONG = 4, 9
"""Batches in the loaders of two workers; an epoch has another number of updates."""
RANK = int(os.environ.get("RANK", "0"))


class Deep(nn.Module):
    """Blocks with dropout, whose activations are computed again in the backward pass where that is asked for."""

    def __init__(self, reentrant: bool | None) -> None:
        super().__init__()
        self.reentrant, self.first, self.last = reentrant, nn.Linear(8, 16), nn.Linear(16, 1)
        parts = (nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Dropout(0.1)) for _ in range(3))
        self.blocks = nn.ModuleList(parts)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = block(x) if self.reentrant is None else checkpoint(block, x, use_reentrant=self.reentrant)
        out: Tensor = self.last(x)
        return out


def batch(worker: int, number: int) -> Tensor:
    return torch.randn(16, 8, generator=torch.Generator().manual_seed(1000 * worker + number))


def wanted(x: Tensor) -> Tensor:
    return x.sum(1, keepdim=True) / 8**0.5


def wrapped(net: nn.Module, **how: Any) -> tailcut.Optimizer:
    given = {"policy": "wait-all", "rate": "fixed", "max_wait": 100.0} | how
    return tailcut.Optimizer(torch.optim.AdamW(net.parameters(), lr=0.02), net, **given)


def stepped(optimizer: Any, net: nn.Module, x: Tensor) -> None:
    optimizer.zero_grad()
    mse_loss(net(x), wanted(x)).backward()
    optimizer.step()


def trained(dtype: torch.dtype, reentrant: bool | None, by_ddp: bool) -> dict[str, Any]:
    """One net, by DDP or by tailcut: the loss that it ends with, and a digest of its parameters."""
    torch.manual_seed(0)
    net = Deep(reentrant).to(dtype)
    torch.manual_seed(RANK)
    if by_ddp:
        ddp, inner = DistributedDataParallel(net), torch.optim.AdamW(net.parameters(), lr=0.02)
        for number in range(UPDATES):
            stepped(inner, ddp, batch(RANK, number).to(dtype))
    else:
        opt = wrapped(net, total=UPDATES)
        for number in opt.rounds(range(UPDATES)):
            stepped(opt, net, batch(RANK, number).to(dtype))
    with torch.no_grad():
        unseen = torch.cat([batch(9, number) for number in range(20)]).to(dtype)
        loss = float(mse_loss(net.eval()(unseen), wanted(unseen)).float())
    kinds = sorted({str(each.dtype) for each in net.parameters()})
    return {"loss": loss, "digest": digest(net.parameters()).hex(), "dtypes": kinds}


def both(dtype: torch.dtype, reentrant: bool | None) -> dict[str, Any]:
    """The net by DDP, then by tailcut."""
    return {"ddp": trained(dtype, reentrant, True), "tailcut": trained(dtype, reentrant, False)}


def bfloat16() -> dict[str, Any]:
    """Parameters, gradients and the optimizer's state in bfloat16."""
    return both(torch.bfloat16, None)


def checkpointed() -> dict[str, Any]:
    """Activations are computed again in the backward pass."""
    return both(torch.float32, False)


def checkpointed_reentrant() -> dict[str, Any]:
    """The same in the older way, which makes a backward pass within the backward pass."""
    return both(torch.float32, True)


def unequal() -> dict[str, Any]:
    """Epochs over loaders of other lengths than the epoch, one shorter and one longer; rounds close with the first."""
    data = TensorDataset(torch.randn(16 * (SHORT if RANK == 0 else LONG), 8))
    loader = DataLoader(data, 16, sampler=RandomSampler(data, generator=torch.Generator().manual_seed(0)))
    torch.manual_seed(0)
    net = Deep(None)
    opt, ends, steps = wrapped(net, policy="backup:c=1"), [], 0
    for _, batches in opt.epochs(loader, EPOCHS, updates=IN_EPOCH):
        for (x,) in batches:
            stepped(opt, net, x)
            steps += 1
        mean = torch.tensor(float(opt.version))
        dist.all_reduce(mean)
        ends.append([opt.version, float(mean) / 2])
    told = {"ends": ends, "steps": steps, "digest": digest(net.parameters()).hex()}
    return told | {"without updates": sentence(lambda: epochs_alone(loader))}


def epochs_alone(loader: Iterable[Any]) -> None:
    """Loop over epochs without a given number of updates, with loaders of different lengths."""
    net = Deep(None)
    opt = wrapped(net)
    for _, batches in opt.epochs(loader, 1):
        for (x,) in batches:
            stepped(opt, net, x)


def bars() -> dict[str, Any]:
    """A progress bar around rounds, and around the batches of each epoch, shown by worker 0."""
    net, screen, steps = Deep(None), io.StringIO(), [0, 0]
    opt = wrapped(net, total=UPDATES)
    for number in tqdm(opt.rounds(range(UPDATES)), total=UPDATES, disable=opt.worker != 0, file=screen):
        stepped(opt, net, batch(RANK, number))
        steps[0] += 1
    opt = wrapped(net)
    for epoch, batches in opt.epochs(range(IN_EPOCH), EPOCHS):
        bar = tqdm(batches, f"epoch {epoch}", IN_EPOCH, disable=opt.worker != 0, file=screen)
        for number in bar:
            stepped(opt, net, batch(RANK, number))
            steps[1] += 1
            bar.set_postfix(version=opt.version)
    return {"steps": steps, "screen": screen.getvalue(), "digest": digest(net.parameters()).hex()}


def sentence(what: Callable[[], object]) -> str:
    try:
        what()
    except TailcutError as error:
        return str(error)
    return ""


HABITS = (bfloat16, checkpointed, checkpointed_reentrant, bars, unequal)

if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for habit in HABITS:
        (Path(sys.argv[1]) / f"{habit.__name__}.{RANK}.json").write_text(json.dumps(habit()))
    dist.barrier()
    os._exit(0)  # DDP can hang when it lets its group go.
