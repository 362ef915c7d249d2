"""One worker: train for so many updates and write down how long that took.

The work of a mini-batch is a sleep, as if an accelerator computed, and a small pass through the net: eight workers on
two cores then wait for each other and not for a core.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[3]))

from benchmarks.live.jobs.loops import LOOPS, Work, with_tailcut
from benchmarks.live.jobs.trouble import Trouble, torment


def main() -> None:
    """Train."""
    told = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, told.hidden), nn.ReLU(), nn.Linear(told.hidden, 10))
    worker, workers = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    trouble = Trouble(told.unit, told.chance, told.times, told.last if worker == workers - 1 else "", worker)
    journal = told.out / "run" if told.journal else None
    inner = torch.optim.SGD(net.parameters(), lr=0.01)
    work = Work(net, inner, told.mode, told.updates, trouble, journal, told.phases)
    with torment(trouble.kind):
        done = LOOPS.get(told.mode, with_tailcut)(work)
    (told.out / f"{worker}.json").write_text(json.dumps(asdict(done)))


def arguments() -> argparse.Namespace:
    """Parse the arguments that the parent process passes."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "mode", help="ddp, torchft, or a policy; with +stop behind it the loop uses until_closed"
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--hidden", type=int, default=13_000)
    parser.add_argument("--unit", type=float, default=0.1)
    parser.add_argument("--chance", type=float, default=0.0)
    parser.add_argument("--times", type=float, default=9.0)
    parser.add_argument("--last", default="", help="how the last worker is always late")
    parser.add_argument("--journal", action="store_true")
    parser.add_argument("--phases", action="store_true", help="time the parts of a step too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
