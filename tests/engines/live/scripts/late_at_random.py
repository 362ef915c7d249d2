"""Trains under random lateness, once for every recipe; every worker writes what it ended with."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

import torch
from tests.engines.live.recipes import RECIPES, batch_of, loss_of

import tailcut


def run(name: str, out: Path, total: int) -> None:
    recipe = RECIPES[name]
    net = recipe.net()
    optimiser = recipe.optimiser(net)
    opt = tailcut.Optimizer(
        optimiser,
        net,
        policy="backup:c=3",
        rate=recipe.rate,
        scheduler=recipe.scheduler(optimiser),
        clip_norm=recipe.clip_norm,
        total=total,
    )
    accepted: dict[int, list[int]] = {}
    for _ in opt.rounds(range(10 * total)):
        if random.Random(f"{opt.worker} {opt.version}").random() < 0.2:
            time.sleep(0.02)
        opt.zero_grad()
        loss_of(net, batch_of(opt.worker, opt.version)).backward()
        version = opt.version
        outcome = opt.step(samples=recipe.samples(opt.worker))
        if outcome.accepted:
            accepted[version] = list(outcome.members)
    torch.save(net.state_dict(), out / f"{name}.{opt.worker}.pt")
    (out / f"{name}.{opt.worker}.json").write_text(json.dumps(accepted))


if __name__ == "__main__":
    torch.set_num_threads(1)
    for each in RECIPES:
        run(each, Path(sys.argv[1]), int(sys.argv[2]))
