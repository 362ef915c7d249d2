"""Epochs with validation by all workers, early stopping and the best net kept, under lateness at random.

With a third argument the run is killed as a whole at that version, and goes on from its newest checkpoint.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import tailcut
from tailcut.engines.live.worker.replica import digest

UPDATES, EPOCHS, PATIENCE, EVERY = 8, 12, 2, 3
STOPS_AT = 5
"""The epoch after which the validation loss, as the workers see it together, has not fallen for so long."""


def validation(epoch: int, worker: int) -> float:
    """A loss that falls until epoch 3, of which each worker sees another part: by itself it would stop elsewhere."""
    return abs(epoch - 3) + (-3.0 if worker == 0 else 3.0) * epoch


if __name__ == "__main__":
    out, policy, dies_at = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    samples = torch.randn(2 * 4 * UPDATES, 4)
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    inner = torch.optim.AdamW(net.parameters(), lr=0.05)
    kept = {"checkpoints": out / "kept", "checkpoint_every": EVERY, "keep": 2}
    opt = tailcut.Optimizer(inner, net, policy=policy, max_wait=100.0, **kept)
    loader = DataLoader(
        TensorDataset(samples), batch_size=4, sampler=DistributedSampler(TensorDataset(samples), seed=1)
    )
    chance, first, losses, seen = random.Random(opt.worker), opt.version, list[float](), list[object]()
    history = out / f"history {opt.worker}"
    if history.exists():
        losses = json.loads(history.read_text())
    for epoch, batches in opt.epochs(loader, EPOCHS):
        losses = losses[:epoch]
        for group in opt.param_groups:
            group["lr"] = 0.05 * 0.9**epoch
        computed = 0
        for (batch,) in batches:
            if opt.version >= dies_at:
                # Wait until both have this version: if the only holder died, the run would end with code 1.
                (out / f"dies {opt.worker}").write_text("")
                while len(list(out.glob("dies *"))) < 2 or not list((out / "kept").glob("v*.safetensors")):
                    time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGKILL)
            if policy != "wait-all" and chance.random() < 0.3:
                time.sleep(0.02)
            opt.zero_grad()
            net(batch).square().mean().backward()
            opt.step()
            computed += 1
        here = torch.tensor(
            [opt.version, int.from_bytes(digest(net.state_dict().values()))], dtype=torch.int64
        )
        most, least, loss = here.clone(), here.clone(), torch.tensor(validation(epoch, opt.worker))
        dist.all_reduce(most, dist.ReduceOp.MAX)
        dist.all_reduce(least, dist.ReduceOp.MIN)
        dist.all_reduce(loss)
        losses.append(float(loss))
        seen.append(
            {
                "epoch": epoch,
                "version": opt.version,
                "computed": computed,
                "same": bool((most == least).all()),
            }
        )
        history.write_text(json.dumps(losses))
        best = losses.index(min(losses))
        if best == epoch and opt.worker == 0:
            torch.save({"epoch": epoch, "net": net.state_dict()}, out / "best.pt")
        # Each would go by something else, if it were asked: the first decides.
        stop = opt.agree([epoch - best >= PATIENCE, opt.worker])
        seen[-1]["decided"] = stop[1]
        if stop[0]:
            break
    numbers = [number for each in net.state_dict().values() for number in each.reshape(-1).tolist()]
    told = {"first": first, "version": opt.version, "over": opt.over, "seen": seen, "numbers": numbers}
    (out / f"{opt.worker}.json").write_text(json.dumps(told))
