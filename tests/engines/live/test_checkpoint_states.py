"""Real states: a run that resumes from a checkpoint trains exactly like one that was never interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler as schedules

from tailcut.engines.live.checkpoints import Checkpoints, newest
from tailcut.engines.live.worker.replica import Replica

Make = Callable[..., Any]

OPTIMISERS: dict[str, Make] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=torch.tensor(0.01), amsgrad=True),
    "adagrad": lambda parameters: torch.optim.Adagrad(parameters, lr=0.1),
    "rmsprop": lambda parameters: torch.optim.RMSprop(parameters, lr=0.01, centered=True),
}
SCHEDULERS: dict[str, Make] = {
    "none": lambda inner: None,
    "steps": lambda inner: schedules.StepLR(inner, 3),
    "milestones": lambda inner: schedules.MultiStepLR(inner, [2, 6, 6, 9]),
    "cosine": lambda inner: schedules.CosineAnnealingWarmRestarts(inner, 4),
    "one cycle": lambda inner: schedules.OneCycleLR(inner, 0.3, total_steps=20),
    "warm-up, then": lambda inner: schedules.SequentialLR(
        inner, [schedules.LinearLR(inner, total_iters=4), schedules.ExponentialLR(inner, 0.9)], [4]
    ),
    "lambda": lambda inner: schedules.LambdaLR(inner, lambda step: 1 / (1 + step)),
}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Use one thread: more do not speed up so small a net, and wait for each other on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def replica(optimiser: str, scheduler: str, seed: int) -> Replica:
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    inner = OPTIMISERS[optimiser](net.parameters())
    return Replica(net, inner, SCHEDULERS[scheduler](inner))


def train(it: Replica, versions: range) -> None:
    for version in versions:
        it.optimiser.zero_grad()
        x = torch.randn(5, 3, generator=torch.Generator().manual_seed(version))
        it.module(x).square().mean().backward()
        it.apply(1.0)


PAIRS = [(each, "steps") for each in OPTIMISERS] + [("momentum", each) for each in SCHEDULERS]


@pytest.mark.parametrize(("optimiser", "scheduler"), PAIRS)
def test_who_goes_on_from_a_checkpoint_trains_as_the_original_does(
    optimiser: str, scheduler: str, tmp_path: Path
) -> None:
    one, other = replica(optimiser, scheduler, 0), replica(optimiser, scheduler, 1)
    train(one, range(5))
    said: list[str] = []
    checkpoints = Checkpoints(tmp_path, every=5, keep=1, say=said.append)
    checkpoints.stage(5, one.state() | {"chain": b"\x00chain"}, {"data": {0: 5}})
    train(one, range(5, 12))
    checkpoints.confirmed(5)
    checkpoints.close()
    found = newest(tmp_path, said.append)
    assert found is not None
    assert (found.version, found.state["chain"], found.extra) == (5, b"\x00chain", {"data": {0: 5}})
    other.load(found.state)
    assert other.version == 5
    train(other, range(5, 12))
    assert one.digest() == other.digest()
    ours, theirs = one.module.state_dict(), other.module.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    rates = [float(it.optimiser.param_groups[0]["lr"]) for it in (one, other)]
    assert rates[0] == rates[1]
    assert said == []
