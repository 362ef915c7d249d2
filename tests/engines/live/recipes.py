"""What the live tests train, and a one-process reference that is told who was accepted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

BATCH = 8


class Net(nn.Module):
    """With batch statistics, and a parameter that is never used.

    No bias before the norm: its gradient would be nothing but rounding, which Adam makes large steps of.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(6, 16, bias=False), nn.BatchNorm1d(16), nn.Linear(16, 3)
        self.never = nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(torch.relu(self.norm(self.first(x))))
        return out


@dataclass(frozen=True)
class Recipe:
    """One way to train."""

    optimiser: Callable[[nn.Module], torch.optim.Optimizer]
    clip_norm: float | None = None
    decay: float | None = None
    uneven: bool = False

    def net(self) -> Net:
        torch.manual_seed(7)
        return Net()

    def scheduler(self, optimiser: torch.optim.Optimizer) -> torch.optim.lr_scheduler.LRScheduler | None:
        if self.decay is None:
            return None
        return torch.optim.lr_scheduler.ExponentialLR(optimiser, self.decay)

    @property
    def rate(self) -> str:
        return "fixed" if self.uneven else "linear"

    def samples(self, worker: int) -> int:
        return 8 + 4 * worker if self.uneven else 8


RECIPES = {
    "sgd": Recipe(lambda net: torch.optim.SGD(net.parameters(), lr=0.1)),
    "momentum, schedule, clipping": Recipe(
        lambda net: torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9), clip_norm=0.5, decay=0.99
    ),
    "adamw, uneven": Recipe(lambda net: torch.optim.AdamW(net.parameters(), lr=0.01), uneven=True),
}


def batch_of(worker: int, version: int) -> tuple[Tensor, Tensor]:
    """A function of both, and of nothing else."""
    generator = torch.Generator().manual_seed(1000 * version + worker)
    return torch.randn(BATCH, 6, generator=generator), torch.randint(3, (BATCH,), generator=generator)


def loss_of(net: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    return nn.functional.cross_entropy(net(batch[0]), batch[1])


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
        loss_of(net, batch_of(worker, version)).backward()
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
    rates = [group["lr"] for group in optimiser.param_groups]
    for group, rate in zip(optimiser.param_groups, rates, strict=True):
        group["lr"] = rate * (samples / full if recipe.rate == "linear" else 1.0)
    optimiser.step()
    for group, rate in zip(optimiser.param_groups, rates, strict=True):
        group["lr"] = rate
