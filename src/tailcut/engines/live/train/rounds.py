"""An arm under a policy: `tailcut.Optimizer` around the same optimizer."""

from __future__ import annotations

import itertools

import torch
import torch.distributed as dist
from torch import nn

from tailcut.engines.live.train.job import Arm
from tailcut.engines.live.train.notes import Notes, Step
from tailcut.engines.live.train.work import Watch, Work
from tailcut.engines.live.worker.optimizer import Optimizer


def train_with_policy(
    work: Work, arm: Arm, net: nn.Module, optimiser: torch.optim.Optimizer, watch: Watch, notes: Notes
) -> None:
    """Train until the target or the last update."""
    job = work.job
    opt = Optimizer(
        optimiser,
        net,
        arm.policy,
        rate=job.rule,
        noise_of=work.task.noise_of,
        after_update=watch.after_update,
        total=job.updates,
        late="abandon" if arm.until_closed else "finish",
        journal=job.journal(arm),
    )
    dist.barrier()
    watch.begin()
    for number in itertools.count():
        if watch.arrived or opt.over or opt.version >= job.updates:
            break
        opt.zero_grad()
        if arm.until_closed:
            for seconds, piece in opt.until_closed(work.pieces(number)):
                work.loss_of(net, seconds, piece).backward()  # type: ignore[no-untyped-call]
        else:
            work.loss(net, number).backward()  # type: ignore[no-untyped-call]
        came = opt.step(samples=job.batch)
        notes.steps.append(Step(came.version, watch.now, came.accepted, len(came.members), came.waited))
    opt.close()
