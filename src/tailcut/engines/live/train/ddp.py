"""The arm without tailcut: DistributedDataParallel, which waits for all workers."""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from tailcut.engines.live.train.notes import Notes, Step
from tailcut.engines.live.train.work import Watch, Work


def train_with_ddp(
    work: Work, net: nn.Module, optimiser: torch.optim.Optimizer, watch: Watch, notes: Notes
) -> None:
    """Train until the target or the last update. All-reduce is part of backward, which counts as waiting."""
    wrapped, workers = DistributedDataParallel(net), dist.get_world_size()
    dist.barrier()
    watch.begin()
    for number in range(work.job.updates):
        optimiser.zero_grad()
        loss = work.loss(wrapped, number)
        began = time.monotonic()
        loss.backward()  # type: ignore[no-untyped-call]
        waited = time.monotonic() - began
        optimiser.step()
        notes.steps.append(Step(number + 1, watch.now, True, workers, waited))
        watch.after_update(number + 1)
        if watch.arrived:
            return
