"""Trains under random lateness, once for every recipe; every worker writes what it ended with."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path

import torch
from tests.engines.live.recipes import RECIPES, TOTAL

import tailcut


def run(name: str, out: Path) -> None:
    recipe = RECIPES[name]
    net = recipe.net(int(os.environ["RANK"]))
    optimiser = recipe.optimiser(net)
    opt = tailcut.Optimizer(
        optimiser,
        net,
        policy=recipe.policy,
        rate=recipe.rate,
        scheduler=recipe.scheduler(optimiser),
        clip_norm=recipe.clip_norm,
        total=TOTAL,
        max_wait=100.0,
    )
    # A scale of every worker's own: gradients are unscaled before they are averaged.
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** (10 + opt.worker), enabled=recipe.overflows)
    accepted: dict[int, list[int]] = {}
    late = 0
    for _ in opt.rounds(range(10 * TOTAL)):
        worker, version = opt.worker, opt.version
        if random.Random(f"{worker} {version}").random() < 0.15:
            time.sleep(0.004)
        recipe.set_rate(opt, version)
        opt.zero_grad()
        recipe.backward(net, worker, version, scaler.scale)
        if recipe.overflow(worker, version):
            net.last.weight.grad.mul_(torch.inf)
        outcome = scaler.step(opt, samples=recipe.samples(worker))
        scaler.update()
        late += not outcome.accepted
        if outcome.accepted:
            accepted[version] = list(outcome.members)
    torch.save(net.state_dict(), out / f"{name}.{opt.worker}.pt")
    told = {"accepted": accepted, "late": late, "shared": opt._session._flat.shared.reductions}
    (out / f"{name}.{opt.worker}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    torch.set_num_threads(1)
    for each in RECIPES:
        run(each, Path(sys.argv[1]))
