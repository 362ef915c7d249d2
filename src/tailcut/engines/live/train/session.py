"""One worker process: all arms of a job, one after the other."""

from __future__ import annotations

import copy
import signal
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from tailcut.engines.live.train.ddp import train_with_ddp
from tailcut.engines.live.train.job import Arm, notes_file, read_job
from tailcut.engines.live.train.notes import Notes
from tailcut.engines.live.train.rounds import train_with_policy
from tailcut.engines.live.train.work import Watch, Work
from tailcut.engines.slow.ways import way
from tailcut.learning.optimisers import OPTIMISERS
from tailcut.learning.tasks.base import Task


def run_worker(folder: Path, task_of: Callable[[str], Task], say: Callable[[str], None]) -> None:
    """Run the job in a folder as one of its workers, and write notes there.

    Args:
        folder: folder of the job.
        task_of: returns the task with a name.
        say: is told of the progress, by worker 0 for all.
    """
    # The process that started the workers handles Ctrl-C, and ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    job, delays = read_job(folder)
    dist.init_process_group("gloo")
    worker = dist.get_rank()
    work = Work(job, task_of(job.task), worker, delays, way(job.slow_by))
    for place, arm in enumerate(job.arms):
        notes = _trained(work, arm, say if worker == 0 else _silent)
        notes.write(notes_file(folder, place, worker))
    dist.barrier()
    dist.destroy_process_group()


def _trained(work: Work, arm: Arm, say: Callable[[str], None]) -> Notes:
    net, notes = work.task.net(work.job.seed), Notes()
    _warm_up(work, net)
    optimiser = OPTIMISERS[work.job.optimiser](list(net.parameters()), work.job.rate)
    watch = Watch(work, net, notes, lambda line: say(f"{arm.name:20} {line}"))
    if arm.is_ddp:
        train_with_ddp(work, net, optimiser, watch, notes)
    else:
        train_with_policy(work, arm, net, optimiser, watch, notes)
    return notes


def _warm_up(work: Work, net: nn.Module) -> None:
    """Make the first pass through a net, which takes many times as long as any other, outside of any arm."""
    spare = copy.deepcopy(net)
    loss = work.task.losses(spare, work.batch(0)).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    work.task.evaluate(spare)


def _silent(line: str) -> None:
    del line
