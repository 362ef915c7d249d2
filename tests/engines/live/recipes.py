"""Nets and recipes of the live tests, and a one-process reference that is given the accepted workers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

BATCH, TOTAL = 8, 300


class Net(nn.Module):
    """A net with batch statistics, a frozen parameter, an unused one, and one that is used now and then.

    No bias precedes the norm: its gradient would be pure rounding error, which Adam turns into large steps.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(6, 16, bias=False), nn.BatchNorm1d(16), nn.Linear(16, 3)
        self.never, self.seldom = nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(3))
        self.frozen = nn.Parameter(torch.full((6,), 0.5), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(torch.relu(self.norm(self.first(x * self.frozen))))
        return out * self.seldom if x[0, 0] > 0.5 else out


@dataclass(frozen=True)
class Recipe:
    """The options of one training.

    Attributes:
        optimiser: makes an optimizer over all parameters, the frozen one too.
        policy: policy that closes rounds.
        clip_norm, decay: limit of the mean gradient's norm; factor of the learning rate per update.
        uneven: whether workers have mini-batches of different sizes.
        micro: micro-batches per step.
        overflows: whether gradients are scaled, and worker 1's sometimes overflow.
        by_hand: whether the script sets options of the optimizer itself, by the version.
    """

    optimiser: Callable[[nn.Module], torch.optim.Optimizer]
    policy: str = "backup:b=1"
    clip_norm: float | None = None
    decay: float | None = None
    uneven: bool = False
    micro: int = 1
    overflows: bool = False
    by_hand: bool = False

    def net(self, worker: int = 0) -> Net:
        torch.manual_seed(7 if worker == 0 else 1337 + worker)
        return Net()

    def set_rate(self, optimiser: torch.optim.Optimizer, version: int) -> None:
        """Set learning rate and weight decay by hand, like scripts without a scheduler."""
        for group in optimiser.param_groups if self.by_hand else ():
            group["lr"] = 0.001 * (1.0 + math.cos(math.pi * version / TOTAL))
            group["weight_decay"] = 0.01 if version < 50 else 0.1

    def scheduler(self, optimiser: torch.optim.Optimizer) -> torch.optim.lr_scheduler.LRScheduler | None:
        if self.decay is None:
            return None
        return torch.optim.lr_scheduler.ExponentialLR(optimiser, self.decay)

    @property
    def rate(self) -> str:
        return "fixed" if self.uneven else "linear"

    def samples(self, worker: int) -> int:
        return 8 + 4 * worker if self.uneven else 8

    def overflow(self, worker: int, version: int) -> bool:
        return self.overflows and worker == 1 and version % 7 == 3

    def backward(
        self,
        net: nn.Module,
        worker: int,
        version: int,
        scaled: Callable[[Tensor], Tensor] = lambda loss: loss,
    ) -> None:
        """Gradients of a worker's mini-batch, micro-batch after micro-batch."""
        inputs, labels = batch_of(worker, version)
        for x, y in zip(inputs.chunk(self.micro), labels.chunk(self.micro), strict=True):
            scaled(nn.functional.cross_entropy(net(x), y) / self.micro).backward()


RECIPES = {
    "sgd, scaler, overflow, accumulation": Recipe(
        lambda net: torch.optim.SGD(net.parameters(), lr=0.1), micro=2, overflows=True
    ),
    "momentum, schedule, clipping": Recipe(
        lambda net: torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9),
        policy="deadline:seconds=0.004",
        clip_norm=0.5,
        decay=0.99,
    ),
    "adamw, uneven, rates by hand": Recipe(
        lambda net: torch.optim.AdamW(net.parameters(), lr=0.002), uneven=True, by_hand=True
    ),
}


def batch_of(worker: int, version: int) -> tuple[Tensor, Tensor]:
    """A function of both, and of nothing else."""
    generator = torch.Generator().manual_seed(1000 * version + worker)
    return torch.randn(BATCH, 6, generator=generator), torch.randint(3, (BATCH,), generator=generator)


def replayed(recipe: Recipe, accepted: Mapping[int, Sequence[int]], workers: int) -> dict[str, Tensor]:
    """The same updates in one process: plain torch, worker after worker."""
    net = recipe.net()
    optimiser = recipe.optimiser(net)
    scheduler = recipe.scheduler(optimiser)
    full = sum(recipe.samples(worker) for worker in range(workers))
    for version in sorted(accepted):
        _replay(net, optimiser, recipe, version, accepted[version], full)
        if scheduler is not None:
            scheduler.step()
    return net.state_dict()


def _replay(
    net: Net,
    optimiser: torch.optim.Optimizer,
    recipe: Recipe,
    version: int,
    members: Sequence[int],
    full: int,
) -> None:
    before = {name: each.clone() for name, each in net.named_buffers()}
    samples = sum(recipe.samples(worker) for worker in members)
    gradients: dict[str, Tensor] = {}
    buffers = {name: torch.zeros_like(each) for name, each in before.items() if each.is_floating_point()}
    for worker in members:
        net.load_state_dict(before, strict=False)
        net.zero_grad()
        recipe.backward(net, worker, version)
        weight = recipe.samples(worker) / samples
        for name, parameter in net.named_parameters():
            if parameter.grad is not None:
                gradients[name] = gradients.get(name, torch.zeros_like(parameter)) + weight * parameter.grad
        for name, each in net.named_buffers():
            if name in buffers:
                buffers[name] += weight * each
    net.load_state_dict(buffers, strict=False)
    for name, parameter in net.named_parameters():
        parameter.grad = gradients.get(name)
    if recipe.clip_norm is not None:
        nn.utils.clip_grad_norm_(
            [each for each in net.parameters() if each.grad is not None], recipe.clip_norm
        )
    recipe.set_rate(optimiser, version)
    rates = [group["lr"] for group in optimiser.param_groups]
    for group, rate in zip(optimiser.param_groups, rates, strict=True):
        group["lr"] = rate * (samples / full if recipe.rate == "linear" else 1.0)
    optimiser.step()
    for group, rate in zip(optimiser.param_groups, rates, strict=True):
        group["lr"] = rate
