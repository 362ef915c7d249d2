"""Short runs in turn, each with something particular; every worker writes what it saw as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

import tailcut
from tailcut.errors import TailcutError

MICRO, SIZE = 4, 3


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.last = nn.BatchNorm1d(2), nn.Linear(2, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(self.norm(x))
        return out


def wrapped(**how: Any) -> tuple[tailcut.Optimizer, Net]:
    torch.manual_seed(0)
    net = Net()
    given = {"policy": "wait-all", "max_wait": 100.0} | how
    return tailcut.Optimizer(torch.optim.SGD(net.parameters(), lr=0.1), net, **given), net


def computed(opt: tailcut.Optimizer, net: Net, factor: float = 1.0) -> None:
    opt.zero_grad()
    generator = torch.Generator().manual_seed(100 * opt.version + opt.worker)
    (factor * net(torch.randn(4, 2, generator=generator)).square().mean()).backward()


def numbers(net: nn.Module) -> list[float]:
    return [number for each in net.state_dict().values() for number in each.reshape(-1).tolist()]


def unequal() -> dict[str, Any]:
    """Loaders of 3, 5 and 7 batches; the last worker is alone at the end."""
    opt, net = wrapped()
    steps = 0
    for _ in opt.rounds(range(3 + 2 * opt.worker)):
        computed(opt, net)
        opt.step()
        steps += 1
    try:
        opt.step()
    except TailcutError as error:
        return {"steps": steps, "version": opt.version, "then": str(error)}
    return {}


def not_finite() -> dict[str, Any]:
    """Worker 1 has no usable gradient at version 2; at version 3 nobody has one at first.

    The noise of gradients is looked at. The loop does not end by itself: steps after the end change nothing.
    """
    opt, net = wrapped(rate="gain", total=5)
    seen, failed = [], False
    for _ in range(8):
        version = opt.version
        bad = (version == 2 and opt.worker == 1) or (version == 3 and not failed)
        failed = failed or version == 3
        computed(opt, net, torch.nan if bad else 1.0)
        if bad:
            net.norm.running_var.fill_(torch.nan)
        outcome = opt.step()
        seen.append([version, outcome.version, outcome.accepted, outcome.members])
    opt.close()
    return {"seen": seen, "numbers": numbers(net)}


def early() -> dict[str, Any]:
    """Worker 2 leaves in the midst of version 2, worker 1 at version 4; the others go on."""
    opt, net = wrapped(total=6)
    before: list[float] = []
    for _ in opt.rounds(range(100)):
        before = numbers(net)
        if opt.worker == 1 and opt.version == 4:
            opt.close()
            break
        computed(opt, net)
        if opt.worker == 2 and opt.version == 2:
            break
        opt.step()
    return {"version": opt.version, "left as it came": numbers(net) == before}


def meetings() -> dict[str, Any]:
    """Train with each worker slow in turn; at every 5th version all workers reduce a tensor of their own."""
    opt, net = wrapped(policy="backup:c=1", total=20)
    met, late, saved = [], 0, 0.0
    for _ in opt.rounds(range(1000)):
        if opt.every(5):
            versions = torch.tensor([opt.version, -opt.version])
            dist.all_reduce(versions, dist.ReduceOp.MAX)
            met.append(versions.tolist())
        if opt.version % 3 == opt.worker:
            time.sleep(0.02)
        computed(opt, net)
        outcome = opt.step()
        late += not outcome.accepted
        saved += outcome.saved
    return {"met": met, "late": late, "saved": saved, "numbers": numbers(net)}


def micro_of(worker: int, version: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1000 * version + worker)
    return list(torch.randn(MICRO, SIZE, 2, generator=generator))


def partial() -> dict[str, Any]:
    """Worker 2's micro-batches take long; it hands in those it has when its time is up."""
    opt, net = wrapped(policy=f"drop-compute:micro={MICRO}:window=2", rate="fixed", total=12)
    done: dict[int, int] = {}
    net.eval()
    for _ in opt.rounds(range(100)):
        version, count = opt.version, 0
        opt.zero_grad()
        for micro in opt.until_closed(micro_of(opt.worker, version), partial=True):
            time.sleep(0.03 if opt.worker == 2 else 0.004)
            (net(micro).square().mean() / MICRO).backward()
            count += 1
        if opt.step(samples=MICRO * SIZE).accepted:
            done[version] = count
    return {"done": done, "state": {name: each.tolist() for name, each in net.named_parameters()}}


def dropped(scale: float | None = None) -> dict[str, Any]:
    """Rounds close with the first; who is late stops at its next micro-batch."""
    opt, net = wrapped(policy="backup:c=1", late="abandon", total=10)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale or 1.0, enabled=scale is not None)
    counts = []
    for _ in opt.rounds(range(1000)):
        opt.zero_grad()
        count = 0
        for micro in opt.until_closed(micro_of(opt.worker, opt.version)):
            time.sleep(0.002 + 0.01 * opt.worker)
            scaler.scale(net(micro).square().mean() / MICRO).backward()
            count += 1
        scaler.step(opt, samples=MICRO * SIZE)
        scaler.update()
        counts.append([count, opt.outcome is not None and opt.outcome.accepted])
    return {"counts": counts, "numbers": numbers(net)}


def dropped_scaled() -> dict[str, Any]:
    """The same with mixed precision's scale, which wants a loss before every step."""
    return dropped(scale=8.0)


RUNS: list[Callable[[], dict[str, Any]]] = [
    not_finite,
    meetings,
    partial,
    dropped,
    dropped_scaled,
    unequal,
    early,
]

if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for run in RUNS:
        began = time.monotonic()
        found = run() | {"seconds": time.monotonic() - began}
        (Path(sys.argv[1]) / f"{run.__name__}.{dist.get_rank()}.json").write_text(json.dumps(found))
    dist.barrier()
